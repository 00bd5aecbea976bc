import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import fp from 'fastify-plugin'
import { redactKeys } from '../log.ts'
import { badRequest, expectationFailed, type HttpError } from './errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Prepares for the end: from now on /readyz fails and each answer ends its connection, so that clients go elsewhere. */
    drain: () => void
    isDraining: boolean
  }
  interface FastifyContextConfig {
    /** The operationId of the route, when it is an operation of the document. */
    operation?: string
    /** True for routes whose answers would fill the log: health checks, files of the docs. */
    quiet?: boolean
  }
}

/** The client's X-Request-Id when it is well-formed and holds no API key, else a new one. Log lines and responses carry it. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  const isUsable = typeof given === 'string' && /^[\w.~-]{1,128}$/.test(given) && redactKeys(given) === given
  return isUsable ? given : randomUUID()
}

/**
 * The headers of every response, unless its route says otherwise: nobody keeps it, takes it for another type or frames it.
 * Whether a site is HTTPS alone (HSTS) is for the proxy that ends TLS to say.
 */
export const defaultHeaders = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['x-content-type-options', 'nosniff']
] as const

/** Sets the headers of every response, the id of its request among them. */
export function setDefaultHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  for (const [name, value] of defaultHeaders) reply.header(name, value)
}

/**
 * What every request passes: its headers on the response, the checks of HTTP that Node leaves out, and before the end of the
 * service that of its connection, which would else stay open until the client or a time-out ends it.
 */
export const requests = fp((app, _options: object, done) => {
  app.addHook('onRequest', (request, reply, next) => {
    setDefaultHeaders(request, reply)
    next(protocolFault(request.raw))
  })
  let isDraining = false
  app.decorate('drain', () => {
    isDraining = true
  })
  app.decorate('isDraining', { getter: () => isDraining })
  app.addHook('preClose', (next) => {
    app.drain()
    next()
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (isDraining) reply.header('connection', 'close')
    next(null, payload)
  })
  done()
})

/** One line in the log for a request, when it has ended. */
export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { quiet, operation } = request.routeOptions.config
    const { apiKey } = request
    // A flood without a valid key is counted by the metrics alone.
    const isFlood = reply.statusCode === 429 && apiKey?.state !== 'valid'
    if (isFlood || (quiet && !error && reply.statusCode !== 500)) return
    const line = {
      method: request.method,
      // Without the query: the service reads none, and people paste secrets there.
      path: redactKeys(request.url.replace(/\?.*/, '')),
      operation,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      key: apiKey?.id?.toString(),
      refused: apiKey?.state === 'valid' ? undefined : apiKey?.state,
      ip: request.ip,
      err: error ?? undefined
    }
    request.log.info(line, 'request')
  }
}

/**
 * The error for a request that breaks a rule of HTTP: its version, its Host (RFC 9112, section 3.2), or an expectation that
 * is not 100-continue (RFC 9110, section 10.1.1; a rule of HTTP/1.1 alone).
 */
function protocolFault({ headers, rawHeaders, httpVersion }: IncomingMessage): HttpError | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return badRequest(`The request must be HTTP/1.1, not HTTP/${httpVersion}`)
  }
  const isOld = httpVersion === '1.0'
  if (!isOld && headers.expect !== undefined && !/(^|\W)100-continue($|\W)/i.test(headers.expect)) {
    return expectationFailed()
  }
  if (headers.host === undefined) return isOld ? undefined : badRequest('The Host header is missing')
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) return badRequest('The Host header is given more than once')
  // RFC 3986, section 3.2.2, in its characters.
  const isHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/.test(headers.host)
  return isHost ? undefined : badRequest('The Host header is not a host')
}
