import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
// Declares request.apiKeyCheck.
import type {} from '../keys/key.ts'
// Declares request.errorCode.
import type {} from './error-responses.ts'

/** The client's X-Request-Id if it is well-formed, otherwise a new one. */
export function requestId({ headers }: IncomingMessage): string {
  const id = String(headers['x-request-id'] ?? '')
  return /^[\w.~-]{1,128}$/.test(id) ? id : randomUUID()
}

/** The operationId of a request; undefined outside of the API. */
export const operationIdOf = ({
  routeOptions
}: FastifyRequest): string | undefined => routeOptions.schema?.operationId

/**
 * Logs a request when its response is sent, or when its client leaves before
 * that. It also counts the errors.
 */
export class AccessLog extends LogController {
  override incomingRequest(request: FastifyRequest, reply: FastifyReply): void {
    // Once the connection is closed, Node.js can tell only an address for which
    // it was asked before.
    const { ip } = request
    reply.raw.once('close', () => {
      // A closed connection is the only sign on Node.js 20: it finishes a
      // response that it has cut off.
      if (request.raw.socket.destroyed) request.errorCode = 'aborted'
      countError(request)
      logRequest(request, reply, ip)
    })
  }

  // Fastify calls it only after a response.
  override requestCompleted(): void {}
}

function countError(request: FastifyRequest): void {
  const { errorCode: code, server } = request
  if (code === undefined) return
  server.metrics.httpErrors.inc({
    operation: operationIdOf(request) ?? 'none',
    code
  })
}

/**
 * Logs a request whose API key is in the database, even if it is not valid any
 * more: anybody could fill the log with others, which the metrics count.
 */
function logRequest(
  request: FastifyRequest,
  { statusCode, elapsedTime: ms, raw: { headersSent } }: FastifyReply,
  ip: string
): void {
  const { method, url, errorCode: code, apiKeyCheck: check } = request
  if (check?.id == null) return

  request.log.info(
    {
      method,
      // The query is left out, because people paste secrets into it.
      path: url.replace(/[?#].*/, ''),
      operation: operationIdOf(request),
      status: headersSent ? statusCode : undefined,
      code,
      ms,
      key: check.id.toString(),
      rejected: check.state === 'valid' ? undefined : check.state,
      ip
    },
    'request'
  )
}
