import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

/** Who sent a request. */
export interface Caller {
  /** The id of the API key. */
  key?: string | undefined
  /** Why the API key was rejected. */
  rejected?: string | undefined
}

/**
 * The access log: a line for each request, after its response. Health checks
 * and the docs are logged only on failure.
 */
export class AccessLog extends LogController {
  readonly #callerOf: (request: FastifyRequest) => Caller

  /** @param callerOf reads what authentication has found out */
  constructor(callerOf: (request: FastifyRequest) => Caller) {
    super()
    this.#callerOf = callerOf
  }

  override incomingRequest(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply
  ): void {
    const { key, rejected } = this.#callerOf(request)
    const status = reply.statusCode
    // The metrics count them.
    const isFlood = rejected !== undefined && status === 429
    const isQuiet = isProbe(request) && !error && status !== 500
    if (isFlood || isQuiet) return

    const line = {
      method: request.method,
      // Without the query, into which people paste secrets.
      path: request.url.replace(/\?.*/, ''),
      operation: request.routeOptions.schema?.operationId,
      status,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      key,
      rejected,
      ip: request.ip,
      err: error ?? undefined
    }
    request.log.info(line, 'request')
  }
}

/** Whether a request is for a path outside the API, such as /livez. */
function isProbe({ is404, method, routeOptions }: FastifyRequest): boolean {
  const isOperation = routeOptions.schema?.operationId !== undefined
  return !isOperation && !is404 && method !== 'OPTIONS'
}
