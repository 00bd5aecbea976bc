import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { Contract } from '../contract.ts'

export interface DocsOptions {
  contract: Contract
  /** Shown on the page, so that staging and production cannot be confused. */
  environment: 'development' | 'staging' | 'production'
}

const colours = { development: '#2b5c8a', staging: '#8a5a00', production: '#9b1c1c' }

/** Own scripts, styles and images, connections to this origin, and nothing else; no upgrade to HTTPS, which a proxy may do. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The hash is of the one style element that Swagger UI writes, in its logo.
  "style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/** Swagger UI at /docs, the document at /openapi.yaml (byte for byte) and /openapi.json; / leads to /docs. */
export const docs = fp<DocsOptions>(async (app, { contract, environment }) => {
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
        persistAuthorization: true,
        displayRequestDuration: true,
        // The dates of a deprecation are extensions.
        showExtensions: true
      },
      uiHooks: {
        onRequest(request, reply, next) {
          // The page asks for docs/json, a copy: it is led to the document itself.
          const copy = /\/docs\/(json|yaml)$/.exec(String(request.routeOptions.url))
          if (copy === null) next()
          else void reply.redirect(`../openapi.${copy[1]}`)
        }
      },
      theme: {
        title: `Pet Categories (${environment})`,
        css: [{ filename: 'environment.css', content: stylesheet(environment) }]
      }
    })
  })
})

function stylesheet(environment: DocsOptions['environment']): string {
  return `.swagger-ui .topbar { background: ${colours[environment]}; }
.swagger-ui .topbar .download-url-wrapper { display: none; }
.swagger-ui .topbar-wrapper::after { content: '${environment}'; color: #fff; font: bold 1.5rem sans-serif; }
`
}
