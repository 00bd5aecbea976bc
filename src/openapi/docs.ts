import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { ApiDocument } from './document.ts'

/**
 * The color of each environment, so that nobody mistakes one for another.
 * White on it has a contrast of 5.5 or more.
 */
export const colors = {
  development: '#2b5c8a',
  staging: '#8a5a00',
  production: '#9b1c1c'
}

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

interface Options {
  apiDocument: ApiDocument
  environment: keyof typeof colors
}

/**
 * Swagger UI at /docs, changed by the files in docs/. They use its plugin API: it
 * would overwrite changes of the DOM that it renders. The OpenAPI document at
 * /openapi.yaml, byte for byte, and as JSON at /openapi.json.
 */
export const docsPage = fp<Options>(
  async (app, { apiDocument, environment }) => {
    const { document, servers, yaml, json } = apiDocument
    const { title } = document.info
    const color = colors[environment]

    app.get('/', (_request, reply) => reply.redirect('docs'))
    app.get('/openapi.yaml', (_request, reply) =>
      reply.type('application/yaml; charset=utf-8').send(yaml)
    )
    app.get('/openapi.json', (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(json)
    )

    // Swagger UI sends its requests to the first server.
    await app.register(swagger, {
      mode: 'static',
      specification: { document: { ...document, servers } }
    })
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: contentPolicy,
      uiConfig: {
        persistAuthorization: true,
        displayRequestDuration: true,
        // Shows the dates of a deprecation.
        showExtensions: true
      },
      theme: {
        title: `${title} · ${environment}`,
        css: [styleSheet(color)],
        js: [script('page.js'), script('operation.js')],
        favicon: [icon(title.charAt(0), color)]
      }
    })
  },
  { name: 'docs-page' }
)

const read = (name: string) =>
  readFileSync(new URL(`./docs/${name}`, import.meta.url), 'utf8')

const styleSheet = (color: string) => ({
  filename: 'page.css',
  content: `:root { --environment: ${color}; }\n${read('page.css')}`
})

const script = (filename: string) => ({ filename, content: read(filename) })

const icon = (letter: string, color: string) => ({
  filename: 'icon.svg',
  rel: 'icon',
  sizes: 'any',
  type: 'image/svg+xml',
  content: `
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
      <rect width="32" height="32" rx="7" fill="${color}"/>
      <text
        x="16"
        y="24"
        fill="#fff"
        font-family="sans-serif"
        font-size="22"
        text-anchor="middle"
      >${letter}</text>
    </svg>
  `.trim()
})
