import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyReply, FastifyRequest, RouteHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { OpenAPIV3 } from 'openapi-types'
import { CachedBody } from '../http/cached-body.ts'
import { docsHtml } from './docs-html.ts'
import { type ApiDocument, operationsOf } from './document.ts'
import { manualFiles } from './manual.ts'

/**
 * The Content-Security-Policy of the page. It allows scripts, styles, images
 * and connections of this origin only. It does not upgrade to HTTPS, which a
 * local deployment lacks.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

/** Content-Types by the extensions of files. */
const contentTypes: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.png': 'image/png',
  '.yaml': 'application/yaml'
}
const typeOf = (name: string) => `${contentTypes[extname(name)]}; charset=utf-8`

/** Makes the handler of a file, which browsers and proxies may cache. */
function fileHandler(name: string, content: string | Buffer) {
  const body = new CachedBody(content)

  return async ({ headers }: FastifyRequest, reply: FastifyReply) => {
    reply.header('cache-control', 'public, no-cache')
    const bytes = await body.negotiate(headers, reply)
    if (bytes === undefined) return reply.code(304).send()

    return reply.type(typeOf(name)).send(bytes)
  }
}

/** The files of the pages that are ours. */
const ownFiles = new URL('docs/', import.meta.url)

/** The files of @fastify/swagger-ui that the page loads. */
const swaggerUiFiles = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'favicon-32x32.png'
]

interface Options {
  apiDocument: ApiDocument
  /** The code samples of the operations; undefined if the API has none. */
  samplesFile: URL | undefined
  /** The folder of the manual's sources; undefined if the API has none. */
  manualRoot: URL | undefined
  environment: string
}

/**
 * Serves Swagger UI at /docs, changed by docs/page.js and docs/page.css, and
 * the manual beside it, such as /docs/guide. Serves the OpenAPI document byte
 * for byte at /openapi.yaml, and as JSON at /openapi.json.
 */
export const docsPage = fp<Options>(
  async (app, { apiDocument, samplesFile, manualRoot, environment }) => {
    const { yaml, json, document, examplePath } = apiDocument
    const manual = manualRoot
      ? manualFiles(manualRoot, document.info.title)
      : []
    const files = [...readFiles(ownFiles), ...manual]
    const names = files.map(({ name }) => name)
    const html = docsHtml(document, environment, names)
    const page = fileHandler('docs.html', html)
    const yamlFile = fileHandler('openapi.yaml', yaml)
    const spec = JSON.stringify(documentOfPage(apiDocument, samplesFile))
    const assets = new Map(
      swaggerUiFiles.map((name) => [name, fileHandler(name, readAsset(name))])
    )
    // Those of @fastify/swagger-ui would neither compress a file, nor close one
    // whose client leaves.
    const handlers: Record<string, RouteHandler> = {
      '/docs': page,
      '/docs/': page,
      '/docs/json': fileHandler('docs.json', spec),
      '/docs/yaml': yamlFile,
      '/docs/static/*': (request, reply) => {
        const { '*': name } = request.params as { '*': string }
        return assets.get(name)?.(request, reply) ?? reply.callNotFound()
      }
    }

    app.get('/', (_request, reply) => reply.redirect('docs'))
    app.get('/openapi.yaml', yamlFile)
    app.get('/openapi.json', fileHandler('openapi.json', json))

    await app.register(swagger, { mode: 'static', specification: { document } })
    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.handler = handlers[route.url] ?? route.handler
      })
      scope.addHook('onRequest', (_request, reply, done) => {
        reply.header('content-security-policy', contentPolicy)
        done()
      })
      for (const { name, text } of files)
        scope.get(`/docs/${name.replace('.html', '')}`, fileHandler(name, text))

      await scope.register(swaggerUi, {
        routePrefix: '/docs',
        uiConfig: uiConfig(examplePath)
      })
    })
  },
  { name: 'docs-page' }
)

const uiConfig = (examplePath: string) => ({
  layout: 'BaseLayout',
  showExtensions: true,
  // Shows the limits of parameters.
  showCommonExtensions: true,
  // Clients and texts call operations by it.
  displayOperationId: true,
  // Swagger UI ignores it: page.js tries a key there.
  examplePath
})

const readFiles = (folder: URL) =>
  readdirSync(folder).map((name) => ({
    name,
    text: readFileSync(new URL(name, folder), 'utf8')
  }))

const readAsset = (name: string) =>
  readFileSync(
    new URL(import.meta.resolve(`@fastify/swagger-ui/static/${name}`))
  )

/** The code samples by operationId, as `x-codeSamples` has them. */
type Samples = Record<string, object[]>

/**
 * The OpenAPI document for Swagger UI, which sends its requests to the first
 * server: with the servers in that order, and the code samples.
 */
function documentOfPage(
  { json, servers }: ApiDocument,
  file: URL | undefined
): OpenAPIV3.Document {
  // `apiDocument.document` would not do: others use it, and it is in the words
  // of OpenAPI 3.0.
  const document = JSON.parse(json) as OpenAPIV3.Document
  const samples = (
    file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'))
  ) as Samples

  for (const { id, operation } of operationsOf(document))
    Object.assign(operation, { 'x-codeSamples': samples[id] })

  return { ...document, servers }
}
