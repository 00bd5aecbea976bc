import type { OpenAPIV3 } from 'openapi-types'
import { operationsOf } from './document.ts'

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** The operations by their tags, as links. */
function listOf(document: OpenAPIV3.Document): string {
  const entries = operationsOf(document).map(({ id, method, operation }) => {
    const { summary = id, tags: [tag = 'default'] = [] } = operation
    // Opens the operation in Swagger UI.
    const url = `#/${encodeURIComponent(tag)}/${id}`
    const text = `<b>${method}</b> ${escapeHtml(summary)}`
    return { tag, item: `<li><a href="${url}">${text}</a></li>\n` }
  })

  const tags = (document.tags ?? []).map(({ name }) => name)
  const allTags = new Set([...tags, ...entries.map(({ tag }) => tag)])
  const sections = Array.from(allTags, (tag) => {
    const own = entries.filter((entry) => entry.tag === tag)
    const items = own.map(({ item }) => item)
    return `<p>${escapeHtml(tag)}</p>\n<ul>\n${items.join('')}</ul>\n`
  })

  return sections.join('')
}

/**
 * The HTML of /docs. Its list of operations is there before Swagger UI, which
 * takes ten seconds at 50 kB/s.
 *
 * @param files those that are served beside it
 */
export function docsHtml(
  document: OpenAPIV3.Document,
  environment: string,
  files: string[]
): string {
  const title = escapeHtml(`${document.info.title} · ${environment}`)
  const pages = files.flatMap((file) => /(.+)\.html$/.exec(file)?.[1] ?? [])
  const links = pages.map((page) => `<a href="/docs/${page}">${page}</a>\n`)

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="icon" type="image/png" href="/docs/static/favicon-32x32.png">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header>
<p>${title}</p>
${links.join('')}<a href="/openapi.yaml">openapi.yaml</a>
</header>
<nav aria-label="List of operations">
${listOf(document)}</nav>
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/swagger-initializer.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`
}
