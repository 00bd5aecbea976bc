import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { OpenAPIV3 } from 'openapi-types'
import { type Environment, readDocsFile, createTheme } from './docs-theme.ts'
import { type ApiDocument, methods } from './document.ts'
import { PageFile } from './page-file.ts'

/**
 * The Content-Security-Policy of the page: only scripts, styles, images and
 * connections of this origin. No upgrade to HTTPS, which a local deployment
 * lacks.
 */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

type Files = Map<string, PageFile>

/** What @fastify/swagger-ui serves, and the page does not load. */
const unusedRoutes = ['/docs/static/*', '/docs/static/index.html', '/docs/yaml']

/** The files of Swagger UI that the page loads, by path. */
const swaggerUiFiles: Files = new Map(
  Object.entries({
    'swagger-ui.css': 'text/css; charset=utf-8',
    'index.css': 'text/css; charset=utf-8',
    'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
    'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8'
  }).map(([name, type]) => {
    const source = import.meta.resolve(`@fastify/swagger-ui/static/${name}`)
    const content = readFileSync(new URL(source))
    return [`/docs/static/${name}`, new PageFile(type, content)]
  })
)

const jsonType = 'application/json; charset=utf-8'

interface Options {
  apiDocument: ApiDocument
  /** The code samples of the operations; undefined if the API has none. */
  samples: URL | undefined
  environment: Environment
}

/**
 * Swagger UI at /docs, changed by the files in docs/. They use its plugin API:
 * it would overwrite changes of the DOM that it renders. The OpenAPI document
 * at /openapi.yaml, byte for byte, and as JSON at /openapi.json.
 */
export const docsPage = fp<Options>(
  async (app, { apiDocument, samples, environment }) => {
    const { yaml, json } = apiDocument
    const document = documentOfPage(apiDocument, samples)
    const yamlFile = new PageFile('application/yaml; charset=utf-8', yaml)
    const jsonFile = new PageFile(jsonType, json)
    const theme = createTheme(document.info.title, environment)
    const files = new Map([
      ...swaggerUiFiles,
      ...themeFiles(theme),
      ['/docs/json', new PageFile(jsonType, JSON.stringify(document))]
    ])

    app.get('/', (_request, reply) => reply.redirect('docs'))
    app.get('/openapi.yaml', yamlFile.send)
    app.get('/openapi.json', jsonFile.send)

    await app.register(swagger, { mode: 'static', specification: { document } })
    await app.register(async (scope) => {
      // In place of what @fastify/swagger-ui sends: it neither compresses its
      // files, nor lets a browser keep them.
      scope.addHook('onRoute', (route) => {
        const file = files.get(route.url)
        if (file !== undefined) route.handler = file.send
        if (unusedRoutes.includes(route.url))
          route.handler = (_request, reply) => reply.callNotFound()
      })
      scope.addHook('onSend', async (_request, reply, payload) =>
        isHtml(reply) && typeof payload === 'string'
          ? completePage(payload, files)
          : payload
      )
      await scope.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: contentPolicy,
        uiConfig: createUiConfig(environment),
        theme
      })
      for (const [path, file] of swaggerUiFiles) scope.get(path, file.send)
    })
  },
  { name: 'docs-page' }
)

/**
 * The OpenAPI document for Swagger UI, which sends its requests to the first
 * server: with the servers in that order, and the code samples.
 */
function documentOfPage(
  { json, servers }: ApiDocument,
  samples: URL | undefined
): OpenAPIV3.Document {
  const document = JSON.parse(json) as OpenAPIV3.Document
  if (samples !== undefined) addSamples(document, readSamples(samples))
  return { ...document, servers }
}

/** The code samples by operationId, as `x-codeSamples` has them. */
type Samples = Record<string, object[]>

const readSamples = (file: URL) =>
  JSON.parse(readFileSync(file, 'utf8')) as Samples

function addSamples({ paths }: OpenAPIV3.Document, samples: Samples): void {
  for (const item of Object.values(paths)) {
    for (const method of methods) {
      const operation = item?.[method]
      const own = samples[String(operation?.operationId)]
      if (operation !== undefined && own !== undefined)
        Object.assign(operation, { 'x-codeSamples': own })
    }
  }
}

/** The configuration of Swagger UI. */
const createUiConfig = (environment: Environment) => ({
  persistAuthorization: true,
  displayRequestDuration: true,
  showExtensions: true,
  // The limits of parameters.
  showCommonExtensions: true,
  // Ours, for authorize.js.
  environment
})

/** The files of the theme, by path. */
function themeFiles({
  css,
  js,
  favicon
}: ReturnType<typeof createTheme>): Files {
  return new Map(
    [...css, ...js, ...favicon].map(({ filename, type, content }) => [
      `/docs/static/theme/${filename}`,
      new PageFile(type, content)
    ])
  )
}

const isHtml = (reply: FastifyReply) =>
  String(reply.getHeader('content-type')).startsWith('text/html')

const head = readDocsFile('head.html')
const start = readDocsFile('start.html')

/**
 * Completes the page of @fastify/swagger-ui: what it shows until its scripts
 * run, and the versions of its files, so that a browser may keep them.
 */
function completePage(html: string, files: Files): string {
  return html
    .replace('</head>', `${head}</head>`)
    .replace('<div id="swagger-ui"></div>', start)
    .replace(/\/static\/[^"]+/g, (path) => {
      const file = files.get(`/docs${path}`)
      return file === undefined ? path : `${path}?${file.version}`
    })
}
