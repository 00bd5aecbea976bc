import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  badRequest,
  HttpError,
  retryLater,
  unavailable,
  unavailableBecause
} from '../errors.ts'
import { OutcomeUnknown } from '../postgres/failures.ts'
import { defaultHeaders } from './default-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The code of its Error body, set by `sendError`. `AccessLog` replaces it
     * with `aborted` if the response was not sent completely.
     */
    errorCode: string | undefined
  }
}

/** The codes of failures that the alerts count. */
export const serverErrorCodes = [
  'internal_error',
  'unavailable',
  'outcome_unknown',
  'list_too_long'
]

const internalError = new HttpError(
  500,
  'internal_error',
  'Internal error; the request may have had an effect: quote the X-Request-Id when you report it'
)

const outcomeUnknown = new HttpError(
  503,
  'outcome_unknown',
  'The database did not confirm the write, which may have taken effect: check before you repeat a POST without an Idempotency-Key'
)

/** The responses to errors of the service, Node.js and Fastify. */
const responsesByCode: Partial<Record<string, HttpError>> = {
  unavailable,
  overloaded: unavailableBecause(
    'Too many requests are waiting, or this one waited too long; it had no effect: retry'
  ),
  outcome_unknown: outcomeUnknown,
  ERR_HTTP_REQUEST_TIMEOUT: new HttpError(
    408,
    'request_timeout',
    'The request did not arrive in time'
  ),
  HPE_HEADER_OVERFLOW: new HttpError(
    431,
    'headers_too_large',
    'The header section of the request is too large'
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: badRequest(
    'Content-Type must be application/json'
  ),
  FST_ERR_BAD_URL: badRequest('The path must be percent-encoded UTF-8')
}

/** Returns the response to an error of the parser of Node.js. */
export const parserErrorOf = (code: string): HttpError =>
  responsesByCode[code] ?? badRequest('The request is not valid HTTP/1.1')

/**
 * Returns the response to any error. One that is not listed above becomes a
 * 500: its message may have internal details.
 */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error

  // Anything can be thrown; the errors of Fastify have a code.
  const { code = '' }: Partial<FastifyError> = error ?? {}
  return responsesByCode[code] ?? internalError
}

/** Methods that a client may repeat (RFC 9110, section 9.2.2). */
const idempotentMethods = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']

/**
 * The headers that say whether to repeat a request that may have had an effect:
 * some generated SDKs would repeat after each 5xx.
 */
function repetitionHeaders({ method, headers }: FastifyRequest) {
  const isRepeatable =
    idempotentMethods.includes(method) || 'idempotency-key' in headers
  return isRepeatable
    ? { ...retryLater, 'x-should-retry': 'true' }
    : { 'x-should-retry': 'false' }
}

/**
 * Responds to any error with the Error body, and logs the cause of a 500 and of
 * an unknown outcome.
 */
export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply
): void {
  const error = toHttpError(thrown)
  const { body, headers } = error
  request.errorCode = body.code
  if (body.status === 500) request.log.error({ err: thrown }, body.code)
  if (thrown instanceof OutcomeUnknown)
    request.log.warn({ err: thrown.cause }, body.code)

  reply.headers({ ...defaultHeaders(request.id), ...headers })
  if (error === internalError || error === outcomeUnknown)
    reply.headers(repetitionHeaders(request))
  // Fastify closes the connection after the error of a body. With unread bytes,
  // that resets it, and the client may lose the response. So the rest of the
  // body is read, and dropped.
  if (reply.hasHeader('connection') && reply.raw.shouldKeepAlive)
    reply.header('connection', 'keep-alive')
  reply.code(body.status).send(body)
}
