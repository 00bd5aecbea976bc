import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Overloaded } from '../batch.ts'
import { OutcomeUnknown, Unavailable } from '../postgres/errors.ts'

/** The body of every response that is not a success. */
interface ErrorBody {
  code: string
  message: string
  status: number
}

/** An error with its response. The message is for the client: it says what to change. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Record<string, string> = {},
    options?: ErrorOptions
  ) {
    super(message, options)
    this.status = status
    this.code = code
    this.headers = headers
  }

  get body(): ErrorBody {
    return { code: this.code, message: this.message, status: this.status }
  }
}

/** 400: the request breaks a rule. */
export const badRequest = (message: string) => new HttpError(400, 'invalid_request', message)

/** 404: no such path. */
export const notFound = () => new HttpError(404, 'not_found', 'There is nothing at this path')

/** 405: the path exists, the method does not. */
export const methodNotAllowed = (method: string, allowed: string[]) =>
  new HttpError(405, 'method_not_allowed', `This path does not take ${method}; it takes ${allowed.join(', ')}`, {
    allow: allowed.join(', ')
  })

/** 413: the body is larger than the limit, in bytes. */
export const payloadTooLarge = (limit: number) =>
  new HttpError(413, 'payload_too_large', `The body must not be larger than ${limit} bytes`, { connection: 'close' })

/** 417 (RFC 9110, 10.1.1). */
export const expectationFailed = () =>
  new HttpError(417, 'expectation_failed', 'Expect must be 100-continue or be left out', { connection: 'close' })

/** 503 for a request that had no effect; Retry-After in seconds. */
export const unavailable = () =>
  new HttpError(
    503,
    'unavailable',
    'The service is unavailable for the moment and the request had no effect; send it again after Retry-After',
    { 'retry-after': '1' }
  )

/** 503 for a request that had no effect because too many others are waiting; Retry-After in seconds. */
const overloaded = () =>
  new HttpError(
    503,
    'unavailable',
    'The service has more requests than it can queue and this one had no effect; send it again after Retry-After',
    { 'retry-after': '1' }
  )

/** The response to any error of a request. An error that is not listed here becomes a 500 that reveals nothing internal. */
export function toHttpError(error: unknown, bodyLimit: number): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof Unavailable) return unavailable()
  if (error instanceof Overloaded) return overloaded()
  if (error instanceof OutcomeUnknown) {
    return new HttpError(
      503,
      'outcome_unknown',
      'The connection to the database was lost and the request may have taken effect; look before you send it again',
      // Some generated SDKs retry each 5xx unless this header forbids it.
      { 'x-should-retry': 'false' },
      { cause: error.cause }
    )
  }
  const { code, statusCode = 500, headers } = error as Partial<FastifyError> & { headers?: Record<string, string> }
  switch (code) {
    case 'FST_ERR_BAD_URL':
      return badRequest('The path is not valid: percent signs must be followed by two hexadecimal digits of UTF-8')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge(bodyLimit)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return badRequest('Content-Type must be application/json')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return badRequest('The body must be as long as Content-Length says')
  }
  // @fastify/static rejects a path outside its folder with 403.
  if (statusCode === 403 || statusCode === 404) return notFound()
  if (statusCode === 412)
    return new HttpError(412, 'precondition_failed', 'The file does not meet the condition of the request')
  if (statusCode === 416) {
    return new HttpError(416, 'range_not_satisfiable', 'The range begins after the end of the file', headers)
  }
  if (statusCode >= 400 && statusCode < 500) return badRequest('The request is not valid')
  return new HttpError(
    500,
    'internal_error',
    'Something went wrong on our side; quote the X-Request-Id when you report it',
    {},
    { cause: error }
  )
}

/** Milliseconds. */
const restTimeout = 5000

/** Reads the rest of a body whose response was sent early, so that the client gets to the response, but not for ever. */
function endUnlessRead(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), restTimeout).unref()
  request.once('close', () => clearTimeout(timer))
}

/** Responds to any error with the Error body, and logs the cause of a 5xx. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toHttpError(thrown, Number(request.server.initialConfig.bodyLimit))
  if (error.status >= 500 && error.cause !== undefined) {
    request.log[error.status === 500 ? 'error' : 'warn']({ err: error.cause }, error.code)
  }
  // Fastify closes the connection after any error of a body; one that was read to its end leaves nothing behind.
  if (request.raw.complete) reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close')
  else endUnlessRead(request.raw)
  void reply.code(error.status).headers(error.headers).send(error.body)
}
