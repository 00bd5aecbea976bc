import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { OpenAPIV3 } from 'openapi-types'
import { type ApiDocument, operationsOf } from './document.ts'
import { guideFiles } from './guide.ts'

/**
 * The Content-Security-Policy of the pages. It allows scripts, styles, images
 * and connections of this origin only. It does not upgrade to HTTPS, which a
 * local deployment lacks.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

interface Options {
  apiDocument: ApiDocument
  /** The code samples of the operations; undefined if the API has none. */
  samplesFile: URL | undefined
  /** The folder of the guide's sources; undefined if the API has none. */
  guideRoot: URL | undefined
  environment: string
}

/**
 * Serves Swagger UI at /docs/, and the guide beside it, at /docs/guide.
 * Serves the OpenAPI document byte for byte at /openapi.yaml, and as JSON at
 * /openapi.json.
 */
export const docsPage = fp<Options>(
  async (app, { apiDocument, samplesFile, guideRoot, environment }) => {
    const { yaml, json, document } = apiDocument
    const serve = (url: string, type: string, content: string | Buffer) =>
      app.get(url, (_request, reply) =>
        reply
          .header('content-security-policy', contentPolicy)
          .type(`${type}; charset=utf-8`)
          .send(content)
      )

    app.get('/', (_request, reply) => reply.redirect('docs/'))
    serve('/openapi.yaml', 'application/yaml', yaml)
    serve('/openapi.json', 'application/json', json)
    serve('/docs/guide.css', 'text/css', readFile('guide.css'))
    serve('/docs/guide.js', 'text/javascript', readFile('guide.js'))
    // Swagger UI's is 120 kB for a layout that the page does not use.
    serve(`/docs/static/${preset}`, 'text/javascript', readFile('page.js'))
    const { title: unescaped } = document.info
    const title = unescaped.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    const guide = guideRoot ? guideFiles(guideRoot, title) : []
    for (const { path, type, text } of guide) serve(path, type, text)

    const pageDocument = documentOfPage(apiDocument, samplesFile)
    await app.register(swagger, { mode: 'static', specification: { document } })
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      uiConfig,
      uiHooks: { onRequest: redirectToPage },
      theme: {
        title: `${title} · ${environment}`,
        css: [{ filename: 'page.css', content: readFile('page.css') }]
      },
      staticCSP: contentPolicy,
      transformSpecification: () => pageDocument
    })
  },
  { name: 'docs-page' }
)

const readFile = (name: string) =>
  readFileSync(new URL(`docs/${name}`, import.meta.url), 'utf8')

/** The file of Swagger UI that page.js replaces. */
const preset = 'swagger-ui-standalone-preset.js'

const uiConfig = {
  // Without the bar for the URL of another document.
  layout: 'BaseLayout',
  // Shows the limits of parameters.
  showCommonExtensions: true,
  // Clients and texts call operations by it.
  displayOperationId: true
}

/** Targets by paths, relative because a proxy may strip a prefix. */
const redirects: Record<string, string> = {
  '/docs': 'docs/',
  // With a query, such as ?from=mail.
  '/docs/': './',
  '/docs/static/index.html': '../'
}

/**
 * Leads to the page at the only URL from which Swagger UI finds its files
 * behind any proxy.
 */
const redirectToPage: onRequestHookHandler = ({ url }, reply, done) => {
  const target = redirects[url.replace(/\?.*/, '')]
  if (url === '/docs/' || target === undefined) return done()

  reply.redirect(target)
}

/**
 * The OpenAPI document for Swagger UI, which sends its requests to the first
 * server: with the servers in that order, and the code samples.
 */
function documentOfPage({ json, servers }: ApiDocument, samplesFile?: URL) {
  // `apiDocument.document` would not do: others use it, and it is in the words
  // of OpenAPI 3.0.
  const document = JSON.parse(json) as OpenAPIV3.Document
  const text = samplesFile && readFileSync(samplesFile, 'utf8')
  const samples = JSON.parse(text ?? '{}') as Record<string, object[]>

  for (const { id, operation } of operationsOf(document))
    Object.assign(operation, { 'x-codeSamples': samples[id] })

  return { ...document, servers }
}
