import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { OpenAPIV3 } from 'openapi-types'
import type { Contract } from './contract.ts'
import { type Environment, icon, script, style } from './docs-page.ts'

export interface DocsOptions {
  contract: Contract
  /** Shown on the page, so that staging and production cannot be confused. */
  environment: Environment
}

/** Only this origin's scripts, styles, images and connections. Nothing is upgraded to HTTPS, for local deployments. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Swagger UI at /docs, openapi.yaml byte for byte at /openapi.yaml, and as JSON at /openapi.json. */
export const docs = fp<DocsOptions>(async (app, { contract, environment }) => {
  const { title } = contract.document.info
  app.get('/', (_request, reply) => reply.redirect('docs'))
  app.get('/openapi.yaml', (_request, reply) => reply.type('application/yaml; charset=utf-8').send(contract.yaml))
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(contract.json))

  // Swagger UI reads this at /docs/json. contract.document differs from it: parameters of path items are moved.
  await app.register(swagger, {
    mode: 'static',
    specification: { document: JSON.parse(contract.json) as OpenAPIV3.Document }
  })
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, quiet: true }
    })
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: policy,
      uiConfig: {
        persistAuthorization: true,
        displayRequestDuration: true,
        // The dates of a deprecation are extensions.
        showExtensions: true
      },
      theme: {
        title: `${title} · ${environment}`,
        css: [{ filename: 'docs.css', content: style(environment) }],
        js: [{ filename: 'docs.js', content: script(title, environment) }],
        favicon: [
          { filename: 'icon.svg', rel: 'icon', sizes: 'any', type: 'image/svg+xml', content: icon(title, environment) }
        ]
      }
    })
  })
})
