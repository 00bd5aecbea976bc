import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ApiDocument } from './document.ts'
import { PageFile } from './page-file.ts'

/** The Content-Security-Policy of the guide, which has no scripts. */
const contentPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

interface Options {
  apiDocument: ApiDocument
  /** The HTML of the guide; undefined if the API has none. */
  guide: URL | undefined
  environment: string
}

/**
 * The guide for clients of the API at /docs/guide, and for language models a
 * summary at /llms.txt (https://llmstxt.org).
 */
export const guidePage = fp<Options>(
  (app, { apiDocument, guide, environment }) => {
    const { title } = apiDocument.document.info
    const hasGuide = guide !== undefined
    serve(app, '/llms.txt', 'text/plain', writeSummary(apiDocument, hasGuide))

    if (hasGuide) {
      const content = readFileSync(guide, 'utf8')
      const page = writePage(`${title} · ${environment}`, content)
      serve(app, '/docs/guide', 'text/html', page)
      const css = new URL('docs/guide.css', import.meta.url)
      serve(app, '/docs/guide.css', 'text/css', readFileSync(css, 'utf8'))
    }
  },
  { name: 'guide-page', dependencies: ['docs-page'] }
)

function serve(
  app: FastifyInstance,
  path: string,
  type: string,
  text: string
): void {
  const file = new PageFile(`${type}; charset=utf-8`, text)

  app.get(path, (request, reply) => {
    reply.header('content-security-policy', contentPolicy)
    return file.send(request, reply)
  })
}

function writePage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guide · ${escapeHtml(title)}</title>
<link rel="stylesheet" href="guide.css">
<link rel="icon" type="image/png" href="static/favicon-32x32.png">
</head>
<body>
<header>
<p>${escapeHtml(title)}</p>
<p><a href="../docs">Operations</a> <a href="../openapi.yaml">openapi.yaml</a></p>
</header>
${content}</body>
</html>
`
}

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** As https://llmstxt.org describes it. */
function writeSummary({ document }: ApiDocument, hasGuide: boolean): string {
  const { title, description = title } = document.info
  const guide = '- [Guide](/docs/guide): how a program calls the API\n'

  return `# ${title}

> ${firstSentence(description)}

## Docs

${hasGuide ? guide : ''}- [OpenAPI document](/openapi.yaml): every operation, with examples
- [Docs page](/docs): the same, for people
`
}

/** In one line. */
function firstSentence(text: string): string {
  const [sentence = text] = /^.+?\.(?=\s)/s.exec(text) ?? []
  return sentence.trim().replace(/\s+/g, ' ')
}
