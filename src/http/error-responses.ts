import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  badRequest,
  HttpError,
  retryAfterHeader,
  unavailableError,
  createUnavailableError
} from '../errors.ts'
import { maxBodySize } from '../openapi/json-body.ts'
import { consequenceOf, OutcomeUnknownError } from '../postgres/failures.ts'

/** The codes whose metrics begin with 0, so that the first failure is seen. */
export const preinitializedErrorCodes = [
  'internal_error',
  'unavailable',
  'outcome_unknown',
  'list_too_long'
]

/**
 * The headers of every response, unless its route overrides them. HSTS is left
 * to the proxy that terminates TLS.
 */
export const defaultHeaders = (id: string) => ({
  'x-request-id': id,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff'
})

/** 404: no route has the path. */
export const routeNotFoundError = new HttpError(
  404,
  'not_found',
  'There is nothing at this path: /docs shows the operations'
)

const internalError = new HttpError(
  500,
  'internal_error',
  'Internal error; the request may have had an effect: quote the X-Request-Id when you report it'
)

/** The database has a rule that the OpenAPI document lacks, such as a trigger. */
const rejectedByDatabaseError = new HttpError(
  500,
  'internal_error',
  'Internal error; the request had no effect: quote the X-Request-Id when you report it'
)

const unconfirmedWriteError = new HttpError(
  503,
  'outcome_unknown',
  'The database did not confirm the write, which may have taken effect: check before you repeat a POST without an Idempotency-Key'
)

/** The responses to errors of the service and of Fastify. */
const responsesByCode: Partial<Record<string, HttpError>> = {
  unavailable: unavailableError,
  overloaded: createUnavailableError(
    'Too many requests are waiting, or this one waited too long; it had no effect: retry'
  ),
  outcome_unknown: unconfirmedWriteError,
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpError(
    413,
    'payload_too_large',
    `The body is larger than ${maxBodySize} bytes`
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: badRequest(
    'Content-Type must be application/json'
  ),
  FST_ERR_BAD_URL: badRequest('The path must be percent-encoded UTF-8')
}

/**
 * Returns the response to any error. An unknown error keeps its status if that
 * blames the request, as @fastify/static does for a strange path, a range or a
 * precondition, and else becomes a 500. Its message may have internal details,
 * and is not sent.
 */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error

  if (consequenceOf(error) === 'valuesInvalid') return rejectedByDatabaseError
  // Anything can be thrown; the errors of Fastify have a code.
  const { code = '', statusCode = 500 }: Partial<FastifyError> = error ?? {}
  const response = responsesByCode[code]
  if (response !== undefined) return response
  // A file that must not be read: that it exists is nobody's business.
  if (statusCode === 403) return routeNotFoundError
  if (statusCode < 400 || statusCode > 499) return internalError
  return new HttpError(
    statusCode,
    'invalid_request',
    `The service cannot accept this: ${STATUS_CODES[statusCode]}`
  )
}

/**
 * The headers that say whether to repeat a request that may have had an effect:
 * some generated SDKs would repeat after each 5xx.
 */
function retryHeaders({ method, headers }: FastifyRequest) {
  const isRetryable = method !== 'POST' || 'idempotency-key' in headers
  return isRetryable
    ? { ...retryAfterHeader, 'x-should-retry': 'true' }
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
  if (thrown instanceof OutcomeUnknownError)
    request.log.warn({ err: thrown.cause }, body.code)

  reply.headers({ ...defaultHeaders(request.id), ...headers })
  if (error === internalError || error === unconfirmedWriteError)
    reply.headers(retryHeaders(request))
  reply.code(body.status).send(body)
}
