import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
// Declares request.apiKeyCheck.
import type {} from '../keys/key.ts'
// Declares request.errorCode.
import type {} from '../errors.ts'

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
 * Logs a line for each request when its response is sent, or when its client
 * leaves before that. It also counts the errors.
 */
export class AccessLog extends LogController {
  override incomingRequest(request: FastifyRequest, reply: FastifyReply): void {
    // Node.js forgets the address of a closed connection that it never told.
    const { ip } = request
    reply.raw.once('close', () => {
      // A closed connection is the only sign on Node.js 20: it finishes a
      // response that it has cut off.
      if (request.raw.socket.destroyed) request.errorCode = 'aborted'
      countError(request)
      if (hasLine(request, reply)) logRequest(request, reply, ip)
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

/** Whether a request is logged: outside of the API, only an error is. */
function hasLine(request: FastifyRequest, { statusCode }: FastifyReply) {
  // The metrics count those that are over the limit of their address.
  if (statusCode === 429) return request.apiKeyCheck?.state === 'valid'

  // The 503 of /readyz would have a line for each check.
  const isError = statusCode >= 400 && statusCode !== 503
  return isError || operationIdOf(request) !== undefined
}

function logRequest(
  request: FastifyRequest,
  { statusCode, elapsedTime: ms, raw: { headersSent } }: FastifyReply,
  ip: string
): void {
  const { method, url, errorCode: code, apiKeyCheck } = request
  const state = apiKeyCheck?.state
  request.log.info(
    {
      method,
      // The query is left out, because people paste secrets into it.
      path: url.replace(/[?#].*/, ''),
      operation: operationIdOf(request),
      status: headersSent ? statusCode : undefined,
      code,
      ms,
      key: apiKeyCheck?.id?.toString(),
      rejected: state === 'valid' ? undefined : state,
      ip
    },
    'request'
  )
}
