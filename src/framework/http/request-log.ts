import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
// Declares request.apiKeyCheck.
import '../keys/bearer.ts'
// Declares request.errorCode.
import './errors.ts'

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestId({
  headers
}: Pick<IncomingMessage, 'headers'>): string {
  const id = String(headers['x-request-id'] ?? '')
  return /^[\w.~-]{1,128}$/.test(id) ? id : randomUUID()
}

/**
 * The access log: a line for each request, after its response. A health check
 * or a request for the docs has a line only after a 500, or if its response
 * failed; a 503 of /readyz has none.
 */
export class AccessLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    { statusCode: status, elapsedTime }: FastifyReply
  ): void {
    const { key, rejected } = checkedKey(request)
    // The metrics count them.
    const isFlood = rejected !== undefined && status === 429
    const isQuiet = isOutsideApi(request) && !error && status !== 500
    if (isFlood || isQuiet) return

    const line = {
      method: request.method,
      // Without the query, into which people paste secrets.
      path: request.url.replace(/\?.*/, ''),
      operation: request.routeOptions.schema?.operationId,
      status,
      code: request.errorCode,
      ms: Math.round(elapsedTime * 1000) / 1000,
      key,
      rejected,
      ip: request.ip,
      err: error ?? undefined
    }
    request.log.info(line, 'request')
  }
}

/** The id of the API key of a request, and why it was rejected. */
function checkedKey({ apiKeyCheck }: FastifyRequest) {
  const { id, state } = apiKeyCheck ?? {}
  const rejected = state === 'valid' ? undefined : state
  return { key: id?.toString(), rejected }
}

/**
 * Whether a request is for an existing path outside the API, such as /livez.
 * OPTIONS never is: @fastify/cors has a route for OPTIONS of every path.
 */
export function isOutsideApi({
  is404,
  method,
  routeOptions
}: FastifyRequest): boolean {
  const isOperation = routeOptions.schema?.operationId !== undefined
  return !isOperation && !is404 && method !== 'OPTIONS'
}
