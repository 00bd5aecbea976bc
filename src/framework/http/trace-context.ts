import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

/** Version, trace id, parent id and flags; a later version may add more. */
const format =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

/** Characters of version 00. */
const lengthOf00 = 55

type Headers = Pick<IncomingMessage, 'headers'>

/**
 * The header `traceparent`; undefined if it is missing or invalid, or was sent
 * more than once: Node.js joins the values by a comma.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
function validHeader({ headers }: Headers): string | undefined {
  const header = headers['traceparent']
  if (typeof header !== 'string' || !format.test(header)) return undefined
  const isTooLong = header.startsWith('00') && header.length > lengthOf00
  return isTooLong ? undefined : header
}

/** The trace id of a valid header `traceparent`. */
export function traceIdOf(request: Headers): string | undefined {
  return validHeader(request)?.slice(3, 35)
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
  if (traceId === undefined) return logger.child(bindings, options)
  return logger.child({ ...bindings, trace_id: traceId }, options)
}
