import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of its Error body. */
    errorCode: string | undefined
  }
}

/** Milliseconds between two lines about unauthenticated requests of a status. */
const unauthenticatedIntervalMs = 60_000

/** Paths that proxies and probes request all the time. */
const unloggedPaths = ['/livez', '/readyz']

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const id = String(headers['x-request-id'] ?? '')
  return /^[\w.~-]{1,128}$/.test(id) ? id : randomUUID()
}

/** The operationId of a request; `none` outside of the API. */
export const operationIdOf = ({ routeOptions }: FastifyRequest): string =>
  routeOptions.schema?.operationId ?? 'none'

/**
 * The code of the error that a request got, or `aborted` if its client has
 * left; to be asked when the response is closed.
 */
export const errorCodeOf = ({ errorCode, raw }: FastifyRequest) =>
  // Only the connection shows it: Node.js 20 reports a response as finished that
  // it has cut off.
  errorCode ?? (raw.socket.destroyed ? 'aborted' : undefined)

/** The status that was sent; undefined if the client left before that. */
export const sentStatusOf = ({ raw }: FastifyReply): number | undefined =>
  raw.headersSent ? raw.statusCode : undefined

/**
 * Logs each request with a valid API key, when its response is sent or its
 * client has left.
 *
 * Requests without a valid API key share one line for each status and minute,
 * because anybody could fill the log. The line has one of the requests, and says
 * how many came since the last line.
 */
export function logRequests(app: FastifyInstance): void {
  const unauthenticated = new Map<
    number | undefined,
    { requests: number; loggedAt: number }
  >()
  app.decorateRequest('errorCode', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    // Once the connection is closed, Node.js can tell only an address for which
    // it was asked before.
    const { ip } = request
    // Fastify's hook onResponse would miss clients that have left.
    reply.raw.once('close', () => {
      const requests = takeDueCount(request, reply)
      if (requests > 0) logRequest(request, reply, ip, requests)
    })
    done()
  })

  /** Counts a request. Returns for how many requests a line is due, or 0. */
  function takeDueCount(request: FastifyRequest, reply: FastifyReply): number {
    if (request.apiKey !== undefined) return 1
    if (unloggedPaths.includes(request.routeOptions.url ?? '')) return 0

    const status = sentStatusOf(reply)
    const line = unauthenticated.get(status) ?? {
      requests: 0,
      loggedAt: -Infinity
    }
    unauthenticated.set(status, line)
    line.requests++
    const now = performance.now()
    if (now - line.loggedAt < unauthenticatedIntervalMs) return 0

    const { requests } = line
    line.requests = 0
    line.loggedAt = now
    return requests
  }
}

function logRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  ip: string,
  requests: number
): void {
  const { method, url, apiKey } = request
  const count = apiKey === undefined ? { requests } : {}
  request.log.info(
    {
      method,
      // The query is left out, because people paste secrets into it.
      path: url.replace(/[?#].*/, ''),
      operation: operationIdOf(request),
      status: sentStatusOf(reply),
      code: errorCodeOf(request),
      responseTime: Math.round(reply.elapsedTime),
      apiKeyId: apiKey?.id,
      ip,
      ...count
    },
    apiKey === undefined ? 'requests without a valid API key' : 'request'
  )
}
