import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { Contract } from '../contract.ts'
import { type Environment, files, html, icon } from './page/html.ts'
import { script } from './page/script.ts'
import { style } from './page/style.ts'

export interface DocsOptions {
  contract: Contract
  /** Shown on the page, so that staging and production cannot be confused. */
  environment: Environment
}

/** Own scripts, styles and images, connections to this origin, and nothing else; no upgrade to HTTPS, which a proxy may do. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/** Swagger UI at /docs, the document at /openapi.yaml (byte for byte) and /openapi.json; / leads to /docs. */
export const docs = fp<DocsOptions>(async (app, { contract, environment }) => {
  const page = html(environment, '/docs/static')
  app.get('/', (_request, reply) => reply.redirect('docs'))
  app.get('/openapi.yaml', (_request, reply) => reply.type('application/yaml; charset=utf-8').send(contract.yaml))
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(contract.json))

  await app.register(swagger, {
    mode: 'static',
    specification: { document: contract.document }
  })
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, quiet: true }
    })
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: policy,
      uiConfig: {
        // Without Swagger UI's own top bar.
        layout: 'BaseLayout',
        persistAuthorization: true,
        displayRequestDuration: true,
        // The dates of a deprecation are extensions.
        showExtensions: true
      },
      uiHooks: {
        onRequest(request, reply, next) {
          const { url } = request.routeOptions
          // The page asks for docs/json, a copy: it is led to the document itself.
          const copy = /\/docs\/(json|yaml)$/.exec(String(url))
          if (copy !== null) void reply.redirect(`../openapi.${copy[1]}`)
          else if (url === '/docs' || url === '/docs/') void reply.type('text/html; charset=utf-8').send(page)
          else next()
        }
      },
      theme: {
        css: [{ filename: files.style, content: style(environment) }],
        js: [{ filename: files.script, content: script }],
        favicon: [
          { filename: files.icon, rel: 'icon', sizes: 'any', type: 'image/svg+xml', content: icon(environment) }
        ]
      }
    })
  })
})
