import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { defaultHeaders } from './access-log.ts'

/** An error with its response. The message is for the client: it says what to change. */
export class HttpError extends Error {
  /** The body of every response that is not a success. */
  readonly body: { code: string; message: string; status: number }
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Record<string, string> = {}
  ) {
    super(message)
    this.body = { code, message, status }
    this.headers = headers
  }
}

/** 400: the request breaks a rule. */
export const badRequest = (message: string) =>
  new HttpError(400, 'invalid_request', message)

type Response = ConstructorParameters<typeof HttpError>

const invalidHttp: Response = [
  400,
  'invalid_request',
  'The request is not valid HTTP/1.1'
]
const internalError: Response = [
  500,
  'internal_error',
  'Internal error: quote the X-Request-Id when you report it'
]
const retryLater = { 'retry-after': '1' }

/** The responses to errors of the service, Node.js and Fastify by code, and to those of @fastify/static by status. */
const responses: Record<string, Response> = {
  unavailable: [
    503,
    'unavailable',
    'The service is unavailable; the request had no effect: retry',
    retryLater
  ],
  overloaded: [
    503,
    'unavailable',
    'Too many requests are waiting; this one had no effect: retry',
    retryLater
  ],
  outcome_unknown: [
    503,
    'outcome_unknown',
    'The database did not confirm the write, which may have taken effect: check before you send it again',
    // Some generated SDKs retry each 5xx unless this header forbids it.
    { 'x-should-retry': 'false' }
  ],
  outcome_unknown_with_key: [
    503,
    'outcome_unknown',
    'The database did not confirm the write, which may have taken effect: send it again with the same Idempotency-Key',
    { ...retryLater, 'x-should-retry': 'true' }
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'request_timeout',
    'The request did not arrive in time'
  ],
  HPE_HEADER_OVERFLOW: [
    431,
    'headers_too_large',
    'The header section of the request is too large'
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    413,
    'payload_too_large',
    'The body is larger than this deployment accepts'
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    400,
    'invalid_request',
    'Content-Type must be application/json'
  ],
  FST_ERR_BAD_URL: [
    400,
    'invalid_request',
    'The path must be percent-encoded UTF-8'
  ],
  403: [404, 'not_found', 'There is nothing at this path'],
  412: [
    412,
    'precondition_failed',
    'The file does not meet the condition of the request'
  ],
  416: [
    416,
    'range_not_satisfiable',
    'The range begins after the end of the file'
  ]
}

/** Returns the response to any error. One that is neither listed above nor a 4xx becomes a 500 without internal details. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const {
    code = '',
    statusCode = 500,
    headers
  } = error as Partial<FastifyError> & Pick<HttpError, 'headers'>
  const known = responses[code] ?? responses[statusCode]
  const [status, name, message, ownHeaders = headers] =
    known ?? (statusCode < 500 ? invalidHttp : internalError)
  return new HttpError(status, name, message, ownHeaders)
}

/** Responds to any error with the Error body, and logs the cause of a 5xx. */
export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply
): void {
  const { body, headers } = toHttpError(thrown)
  if (body.status === 500) request.log.error({ err: thrown }, body.code)
  if (body.code === 'outcome_unknown')
    request.log.warn({ err: (thrown as Error).cause }, body.code)
  // Fastify closes the connection after any error of a body. If the whole body was read, the connection can stay open.
  if (request.raw.complete) reply.removeHeader('connection')
  reply.headers(defaultHeaders(request.id))
  void reply.code(body.status).headers(headers).send(body)
}
