import fp from 'fastify-plugin'

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

/** Sets the default headers. */
export const responseHeaders = fp(
  (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(defaultHeaders(request.id))
      done()
    })
  },
  { name: 'default-headers' }
)
