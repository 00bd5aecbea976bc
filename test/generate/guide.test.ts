import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  guideSource,
  pageHtml,
  pageMarkdown
} from '../../tools/generate/guide.ts'

const render = (source: string) =>
  pageHtml('Pets', pageMarkdown(source, String))

t.test('the guide is docs/clients.md, with the files that it links to', (t) => {
  const read = (file: string) => readFileSync(file, 'utf8')
  const html = read('generated/manual/guide.html')
  const [, title = ''] = /<title>(.+)</.exec(html) ?? []
  t.equal(html, pageHtml(title, pageMarkdown(read(guideSource), read)))
  t.end()
})

t.test('a deployment serves what a page links to', (t) => {
  t.match(render('[x](docs/clients.md#y)'), '<a href="guide#y">x</a>')
  t.throws(() => render('[x](security.md)'), {
    message: 'a deployment does not serve security.md'
  })
  t.end()
})

t.test('comments are left out, and other HTML is rejected', (t) => {
  t.notMatch(render('<!-- clients -->\n\n| a |\n| - |\n'), '<!--')
  const message = /^write Markdown in place of HTML: <b>/
  t.throws(() => render('x <b>y</b>'), { message })
  t.throws(() => render('<b>\ny\n</b>\n'), { message })
  t.end()
})
