import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

/**
 * Of the header `traceparent`: the trace id.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
const format = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

/**
 * The option `childLoggerFactory` of Fastify: each line of a request has its
 * id, and its trace id if there is one.
 */
export function requestLogger(
  logger: FastifyBaseLogger,
  bindings: Bindings,
  options: ChildLoggerOptions,
  request: IncomingMessage
): FastifyBaseLogger {
  const header = String(request.headers['traceparent'])
  const [, traceId] = format.exec(header) ?? []
  if (traceId === undefined) return logger.child(bindings, options)
  return logger.child({ ...bindings, trace_id: traceId }, options)
}
