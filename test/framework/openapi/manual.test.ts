import { pathToFileURL } from 'node:url'
import t from 'tap'
import {
  manualFiles,
  pageHtml,
  pageMarkdown
} from '../../../src/framework/openapi/manual.ts'

const render = (source: string) =>
  pageHtml('Pets', pageMarkdown(source, String))

t.test('the guide is docs/clients.md, with the files that it links to', (t) => {
  const folder = t.testdir({
    docs: { 'clients.md': '## Retry\n\n[How](../tools/go/retry.go)\n' },
    tools: { go: { 'retry.go': 'package main\n' } },
    'CHANGELOG.md': '# Changelog\n'
  })
  const files = manualFiles(pathToFileURL(`${folder}/`), 'Pets')
  const [changelog, guide, markdown] = files
  t.equal(files.length, 3)
  t.match(changelog, { name: 'changelog.html', text: /<h1 id="changelog">/ })
  t.match(guide, { name: 'guide.html', text: '<title>Guide · Pets</title>' })
  t.match(guide?.text, '<a href="#goretrygo">How</a>')
  t.match(guide?.text, '<code class="language-go">package main\n</code>')
  t.same(markdown, {
    name: 'guide.md',
    text: `## Retry

[How](#goretrygo)

## Files

### go/retry.go

\`\`\`\`go
package main
\`\`\`\`
`
  })
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
