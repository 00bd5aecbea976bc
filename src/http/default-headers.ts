import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestId({
  headers
}: Pick<IncomingMessage, 'headers'>): string {
  const id = headers['x-request-id']
  const isWellFormed = typeof id === 'string' && /^[\w.~-]{1,128}$/.test(id)
  return isWellFormed ? id : randomUUID()
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

/** Sets the default headers. */
export const defaultHeadersPlugin = fp(
  (app) => {
    app.addHook('onRequest', (request, reply, next) => {
      reply.headers(defaultHeaders(request.id))
      next()
    })
  },
  { name: 'default-headers' }
)
