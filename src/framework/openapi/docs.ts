import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { OpenAPIV3 } from 'openapi-types'
import { type ApiDocument, methods } from './document.ts'
import { PageFile } from './page-file.ts'

/**
 * The Content-Security-Policy of the page: only scripts, styles, images and
 * connections of this origin. No upgrade to HTTPS, which a local deployment
 * lacks.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

const javaScript = 'text/javascript; charset=utf-8'
const css = 'text/css; charset=utf-8'
const html = 'text/html; charset=utf-8'
const icon = 'image/png'

/**
 * The files of @fastify/swagger-ui that the page loads. @fastify/static would
 * neither compress them, nor close one whose client leaves.
 */
const files = new Map(
  Object.entries({
    'swagger-ui.css': css,
    'index.css': css,
    'swagger-ui-bundle.js': javaScript,
    'swagger-ui-standalone-preset.js': javaScript,
    'favicon-32x32.png': icon,
    'favicon-16x16.png': icon
  }).map(([name, type]) => {
    const source = import.meta.resolve(`@fastify/swagger-ui/static/${name}`)
    return [name, new PageFile(type, readFileSync(new URL(source)))]
  })
)

/** What @fastify/swagger-ui serves, and the page does not load. */
const unusedRoutes = ['/docs/yaml', '/docs/static/index.html', '/docs/static/*']

interface Options {
  apiDocument: ApiDocument
  /** The code samples of the operations; undefined if the API has none. */
  samples: URL | undefined
  /** The HTML of the guide; undefined if the API has none. */
  guide: URL | undefined
  environment: string
}

/**
 * Swagger UI at /docs, changed by docs/page.js and docs/page.css. The guide for
 * clients of the API at /docs/guide. The OpenAPI document at /openapi.yaml,
 * byte for byte, and as JSON at /openapi.json.
 */
export const docsPage = fp<Options>(
  async (app, { apiDocument, samples, guide, environment }) => {
    const { yaml, json } = apiDocument
    const document = documentOfPage(apiDocument, samples)
    const uiConfig = {
      persistAuthorization: true,
      showExtensions: true,
      // The limits of parameters.
      showCommonExtensions: true,
      // Ours, for page.js.
      production: productionOrigin(apiDocument)
    }

    app.get('/', (_request, reply) => reply.redirect('docs'))
    app.get(
      '/openapi.yaml',
      new PageFile('application/yaml; charset=utf-8', yaml).send
    )
    app.get(
      '/openapi.json',
      new PageFile('application/json; charset=utf-8', json).send
    )

    await app.register(swagger, { mode: 'static', specification: { document } })
    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        if (unusedRoutes.includes(route.url))
          route.handler = (_request, reply) => reply.callNotFound()
      })
      scope.addHook('onRequest', (_request, reply, done) => {
        reply.header('content-security-policy', contentPolicy)
        done()
      })
      for (const [name, file] of files)
        scope.get(`/docs/static/${name}`, file.send)
      if (guide !== undefined) {
        const style = readDocsFile('guide.css')
        scope.get('/docs/guide', new PageFile(html, readFileSync(guide)).send)
        scope.get('/docs/guide.css', new PageFile(css, style).send)
      }
      await scope.register(swaggerUi, {
        routePrefix: '/docs',
        uiConfig,
        theme: {
          title: `${document.info.title} · ${environment}`,
          css: [themeFile('page.css')],
          js: [themeFile('page.js')]
        }
      })
    })
  },
  { name: 'docs-page' }
)

const readDocsFile = (name: string) =>
  readFileSync(new URL(`docs/${name}`, import.meta.url), 'utf8')

const themeFile = (filename: string) => ({
  filename,
  content: readDocsFile(filename)
})

/** The origin of the first server: the default of clients. */
function productionOrigin({ document }: ApiDocument): string {
  return new URL(String(document.servers?.[0]?.url), 'http://localhost').origin
}

/** The code samples by operationId, as `x-codeSamples` has them. */
type Samples = Record<string, object[]>

/**
 * The OpenAPI document for Swagger UI, which sends its requests to the first
 * server: with the servers in that order, the code samples, and links where a
 * text names an operation.
 */
function documentOfPage(
  { json, servers }: ApiDocument,
  file: URL | undefined
): OpenAPIV3.Document {
  const document = JSON.parse(json) as OpenAPIV3.Document
  const samples = (
    file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'))
  ) as Samples
  const links = new Map<string, string>()

  for (const item of Object.values(document.paths)) {
    for (const method of methods) {
      const operation = item?.[method]
      if (operation?.operationId === undefined) continue
      const { operationId: id, tags: [tag = 'default'] = [] } = operation
      links.set(id, `[${id}](#/${encodeURIComponent(tag)}/${id})`)
      Object.assign(operation, { 'x-codeSamples': samples[id] })
    }
  }

  const linkNames = (text: string) =>
    text.replace(/`[^`]*`|\w+/g, (word) => links.get(word) ?? word)

  return JSON.parse(
    JSON.stringify({ ...document, servers }),
    (key, value: unknown) =>
      key === 'description' && typeof value === 'string'
        ? linkNames(value)
        : value
  ) as OpenAPIV3.Document
}
