import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
// Declares request.apiKeyCheck.
import '../keys/bearer.ts'
// Declares request.errorCode.
import './errors.ts'

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestId({ headers }: IncomingMessage): string {
  const id = String(headers['x-request-id'] ?? '')
  return /^[\w.~-]{1,128}$/.test(id) ? id : randomUUID()
}

/** The operationId of a request; undefined outside of the API. */
export const operationOf = ({
  routeOptions
}: FastifyRequest): string | undefined => routeOptions.schema?.operationId

/**
 * The access log: a line for each request, after its response. Outside of the
 * API, only errors have one, except the 503 of /readyz.
 */
export class AccessLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(
    _error: unknown,
    request: FastifyRequest,
    { statusCode: status, elapsedTime: ms }: FastifyReply
  ): void {
    const { method, url, ip, errorCode: code, apiKeyCheck } = request
    const operation = operationOf(request)
    const isQuiet = operation === undefined && (status < 400 || status === 503)
    const state = apiKeyCheck?.state
    const rejected = state === 'valid' ? undefined : state
    // The metrics count them.
    const isFlood = rejected !== undefined && status === 429
    if (isFlood || isQuiet) return

    // Without the query, into which people paste secrets.
    const path = url.replace(/\?.*/, '')
    const key = apiKeyCheck?.id?.toString()
    request.log.info(
      { method, path, operation, status, code, ms, key, rejected, ip },
      'request'
    )
  }
}
