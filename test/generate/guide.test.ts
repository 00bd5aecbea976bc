import t from 'tap'
import { pageHtml, pageMarkdown } from '../../tools/generate/guide.ts'

/** The HTML of a guide, in a repository of these files. */
const render = (source: string, files: Record<string, string> = {}) =>
  pageHtml(
    'Pets',
    pageMarkdown(source, (name) => String(files[name]))
  )

t.test('the contents list the sections, which are links to themselves', (t) => {
  const html = render('# Guide\n\n## First `step`\n\n### Detail\n\n## Second\n')

  t.match(
    html,
    `<nav aria-label="Contents">
<ol>
<li><a href="#first-step">First <code>step</code></a></li>
<li><a href="#second">Second</a></li>
</ol>
</nav>
<main>
<h1 id="guide">`
  )
  t.match(html, '<h2 id="second"><a href="#second">Second</a></h2>')
  t.match(html, '<h3 id="detail"><a href="#detail">Detail</a></h3>')
  t.end()
})

t.test('a table has the name of its section, and can have the focus', (t) => {
  const html = render('## Errors\n\n| a | b |\n| - | - |\n| 1 | 2 |\n')
  t.match(
    html,
    '<div class="table" role="group" tabindex="0" aria-labelledby="errors">\n<table>'
  )
  t.match(html, '</table>\n</div>')
  t.end()
})

t.test('a deployment serves what the guide links to', (t) => {
  t.match(render('[x](#y)'), '<a href="#y">x</a>')
  t.match(render('[x](https://x.test)'), '<a href="https://x.test">x</a>')
  t.match(render('[x](../openapi.yaml)'), '<a href="../openapi.yaml">x</a>')
  t.match(render('[x](docs/clients.md#y)'), '<a href="guide#y">x</a>')
  t.throws(() => render('[x](security.md)'), {
    message: 'a deployment does not serve security.md'
  })
  t.end()
})

t.test('the text of a linked file is at the end, once', (t) => {
  const link = '[retry.ts](../tools/clients/retry/retry.ts)'
  const html = render(`${link} ${link}\n\n## Last\n`, {
    'tools/clients/retry/retry.ts': 'if (1 < 2) retry()\n'
  })

  t.match(
    html,
    '<p><a href="#retryretryts">retry.ts</a> <a href="#retryretryts">'
  )
  t.match(html, '<li><a href="#files">Files</a></li>\n</ol>')
  const [, files = ''] = html.split('<h2 id="files">')
  t.match(
    files,
    `<h3 id="retryretryts"><a href="#retryretryts">retry/retry.ts</a></h3>
<pre><code class="language-ts">if (1 &lt; 2) retry()
</code></pre>
</main>`
  )
  t.equal(files.match(/<h3/g)?.length, 1)
  t.end()
})

t.test('comments are left out, and other HTML is rejected', (t) => {
  t.notMatch(render('<!-- clients -->\n\n| a |\n| - |\n'), '<!--')
  const message = /^write Markdown in place of HTML: <b>/
  t.throws(() => render('x <b>y</b>'), { message })
  t.throws(() => render('<b>\ny\n</b>\n'), { message })
  t.end()
})
