import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Set at shutdown: /readyz fails, and each response closes its connection, so that clients reconnect elsewhere. */
    isDraining: boolean
  }
}

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestId({
  headers
}: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.~-]{1,128}$/.test(given)
    ? given
    : randomUUID()
}

/** The headers of every response, unless its route overrides them. HSTS is left to the proxy that terminates TLS. */
export const defaultHeaders = (id: string) => ({
  'x-request-id': id,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff'
})

/** Sets the default headers, and closes the connection of each response during shutdown. */
export const requestContext = fp((app) => {
  app.decorate('isDraining', false)
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(defaultHeaders(request.id))
    if (app.isDraining) reply.raw.shouldKeepAlive = false
    next()
  })
})

/** The access log: a line for each request, after its response. Health checks and the docs are logged only on failure. */
export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply
  ): void {
    const operation = request.routeOptions.schema?.operationId
    const { apiKey } = request
    const rejected = apiKey?.state === 'valid' ? undefined : apiKey?.state
    // Requests over the limit without a valid key are only counted, by the metrics.
    const isFlood = rejected !== undefined && reply.statusCode === 429
    const isProbe =
      operation === undefined && !request.is404 && request.method !== 'OPTIONS'
    const isQuiet = isProbe && !error && reply.statusCode !== 500
    if (isFlood || isQuiet) return
    const line = {
      method: request.method,
      // Without the query, into which people paste secrets.
      path: request.url.replace(/\?.*/, ''),
      operation,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      key: apiKey?.id?.toString(),
      rejected,
      ip: request.ip,
      err: error ?? undefined
    }
    request.log.info(line, 'request')
  }
}
