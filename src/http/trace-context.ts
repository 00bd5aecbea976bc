import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

/** Version, trace id, parent id and flags; a later version may add more. */
const format =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0{32})(?<traceId>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?<more>-.*)?$/

/**
 * The trace id of the header `traceparent`; undefined if the header is missing
 * or invalid, or was sent more than once: Node.js joins the values by a comma.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf({
  headers
}: Pick<IncomingMessage, 'headers'>): string | undefined {
  const header = headers['traceparent']
  if (typeof header !== 'string') return undefined

  const parts = format.exec(header)?.groups
  if (parts === undefined) return undefined

  const { version, traceId, more } = parts
  return version === '00' && more !== undefined ? undefined : traceId
}

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
  const traceId = traceIdOf(request)
  const ids = traceId === undefined ? {} : { trace_id: traceId }

  return logger.child({ ...bindings, ...ids }, options)
}
