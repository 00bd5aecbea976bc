import type { OpenAPIV3 } from 'openapi-types'
import { methods } from './document.ts'

/** An operation in the list of the docs page. */
interface Entry {
  id: string
  tag: string
  /** In upper case. */
  method: string
  operation: OpenAPIV3.OperationObject
}

/** The operations of an OpenAPI document. */
export function entriesOf({ paths }: OpenAPIV3.Document): Entry[] {
  return Object.values(paths).flatMap((item) =>
    methods.flatMap((method) => {
      const operation = item?.[method]
      if (operation?.operationId === undefined) return []
      const { operationId: id, tags: [tag = 'default'] = [] } = operation
      return [{ id, tag, method: method.toUpperCase(), operation }]
    })
  )
}

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** The operations by their tags, as links. */
function listOf(document: OpenAPIV3.Document): string {
  const entries = entriesOf(document)
  /** A link that opens the operation in Swagger UI. */
  const item = ({ id, tag, method, operation: { summary = id } }: Entry) =>
    `<li><a href="#/${encodeURIComponent(tag)}/${id}"><b>${method}</b> ` +
    `${escapeHtml(summary)}</a></li>\n`

  const tags = (document.tags ?? []).map(({ name }) => name)
  const allTags = new Set([...tags, ...entries.map(({ tag }) => tag)])
  const sections = Array.from(allTags, (tag) => {
    const items = entries.filter((entry) => entry.tag === tag).map(item)
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
