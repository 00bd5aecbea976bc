// The pages beside the docs page: the guide for API clients, and the changelog.
import { readFileSync } from 'node:fs'
import { Marked } from 'marked'
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id'

/** The page of which the guide is made. */
const guideSource = 'docs/clients.md'

/** A page, or a file that it links to, at a path of this server. */
interface GuideFile {
  path: string
  type: string
  text: string
}

// Makes the same anchors as GitHub.
const { parse } = new Marked(gfmHeadingId())

/**
 * Renders the guide, also as Markdown, with the programs that it links to, and
 * the changelog.
 *
 * @param root the folder of docs/clients.md and CHANGELOG.md
 * @param api the title of the API, as HTML
 * @throws Error if a file is missing
 */
export function guideFiles(root: URL, api: string): GuideFile[] {
  const read = (name: string) => readFileSync(new URL(name, root), 'utf8')
  const guide = read(guideSource)
  const changelog = read('CHANGELOG.md').replaceAll(
    `](${guideSource}`,
    '](guide'
  )
  const page = (path: string, title: string, markdown: string) => ({
    path,
    type: 'text/html',
    text: pageHtml(`${title} · ${api}`, markdown)
  })

  return [
    page('/docs/guide', 'Guide', guide),
    page('/docs/changelog', 'Changelog', changelog),
    { path: '/docs/guide.md', type: 'text/markdown', text: guide },
    ...programsIn(guide).map((name) => ({
      path: `/${name}`,
      type: 'text/plain',
      text: read(name)
    }))
  ]
}

/** The paths of the programs that the guide links to, each once. */
function programsIn(guide: string): string[] {
  const links = guide.matchAll(/\]\(\.\.\/(tools\/[^)]+)\)/g)
  return [...new Set(Array.from(links, ([, name]) => String(name)))]
}

/** A page: a `nav`, its contents, and a `main`, its text. */
function pageHtml(title: string, markdown: string): string {
  const text = parse(markdown, { async: false })
  const sections = getHeadingList()
    .filter(({ level }) => level === 2)
    .map(({ id, text: html }) => `<li><a href="#${id}">${html}</a></li>\n`)

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="guide.css">
<link rel="icon" type="image/png" href="static/favicon-32x32.png">
<script src="guide.js" defer></script>
</head>
<body>
<header>
<p>${title}</p>
<p><a href="../docs">Operations</a> <a href="guide">Guide</a>
<a href="guide.md">as Markdown</a> <a href="changelog">Changelog</a>
<a href="../openapi.yaml">openapi.yaml</a></p>
</header>
<nav aria-label="Contents">
<ol>
${sections.join('')}</ol>
</nav>
<main>
${text}</main>
</body>
</html>
`
}
