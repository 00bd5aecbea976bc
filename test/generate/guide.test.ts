// `npm run generate -- --check` compares the pages themselves.
import t from 'tap'
import { pageHtml, pageMarkdown } from '../../tools/generate/guide.ts'

const render = (source: string) =>
  pageHtml('Pets', pageMarkdown(source, String))

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
