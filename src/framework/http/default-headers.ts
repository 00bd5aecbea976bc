import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Set at shutdown, while requests are still served. */
    isDraining: boolean
  }
}

/**
 * The headers of every response, unless its route overrides them. HSTS is left
 * to the proxy that terminates TLS.
 */
export function defaultHeaders(id: string) {
  return {
    'x-request-id': id,
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff'
  }
}

/**
 * Sets the default headers. At shutdown, each response closes its connection,
 * so that clients reconnect to another replica.
 */
export const responseHeaders = fp(
  (app) => {
    app.decorate('isDraining', false)
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(defaultHeaders(request.id))
      done()
    })
    // Not onRequest: the request may have come before the shutdown.
    app.addHook('onSend', (_request, reply, payload, done) => {
      if (app.isDraining) reply.raw.shouldKeepAlive = false
      done(null, payload)
    })
  },
  { name: 'default-headers' }
)
