import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { type ApiDocument, basePath } from './document.ts'

/** Allows scripts, styles, images and connections of this origin only. */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

const uiConfig = {
  // Without the bar for the URL of another document.
  layout: 'BaseLayout',
  // Otherwise, one press of Back does not leave the page.
  deepLinking: false,
  displayRequestDuration: true,
  persistAuthorization: true,
  // Shows the request as curl for three shells.
  requestSnippetsEnabled: true,
  // A list of 10,000 rows would freeze the page.
  syntaxHighlight: false as const,
  tryItOutEnabled: true
}

/** By path. They are relative, because a proxy may strip a prefix. */
const redirects: Record<string, string> = {
  '/docs': 'docs/',
  // The page itself. With a query, such as ?from=mail, it finds its files only
  // after a redirect.
  '/docs/': './',
  '/docs/static/index.html': '../',
  // Swagger UI would serialize the document at each request, in 10 ms.
  '/docs/yaml': '../openapi.yaml'
}

/**
 * Serves Swagger UI at /docs/, and the OpenAPI document at /openapi.yaml, byte
 * for byte, and at /openapi.json.
 */
export const docsPage = fp<{ apiDocument: ApiDocument }>(
  async (app, { apiDocument: { yaml, document } }) => {
    const serve = (url: string, type: string, content: string | Buffer) =>
      app.get(url, (_request, reply) =>
        reply.type(`${type}; charset=utf-8`).send(content)
      )
    serve('/openapi.yaml', 'application/yaml', yaml)
    serve('/openapi.json', 'application/json', JSON.stringify(document))
    app.get('/', (_request, reply) => reply.redirect('docs/'))

    // Swagger UI sends its requests to the first server.
    const servers = [{ url: `..${basePath}` }]
    const pageDocument = JSON.stringify({ ...document, servers })

    const onRequest: onRequestHookHandler = ({ url }, reply, done) => {
      const path = url.replace(/\?.*/, '')
      const target = redirects[path]
      if (path === '/docs/json')
        reply.type('application/json; charset=utf-8').send(pageDocument)
      else if (target !== undefined && url !== '/docs/') reply.redirect(target)
      else done()
    }

    await app.register(swagger, {
      mode: 'static',
      specification: { document }
    })
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      uiConfig,
      uiHooks: { onRequest },
      theme: { title: document.info.title },
      staticCSP: contentPolicy
    })
  },
  { name: 'docs-page' }
)
