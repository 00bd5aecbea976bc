import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { components } from '../../generated/service.ts'
import { OutcomeUnknown, Overloaded, Unavailable } from '../database/errors.ts'

/** The body of every response that is not a success. */
type ErrorBody = components['schemas']['Error']

/** An error with the answer that its client gets. The message is the client's to read: it says what to change. */
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

/** The handler of an operation that the document has and the service has not built. */
export const notImplemented = (operationId: string) => () => {
  throw new HttpError(501, 'not_implemented', `The operation ${operationId} is not implemented yet`)
}

/**
 * The answer to any error that a request can meet; its cause is the error itself. What is not foreseen here is a 500 that
 * tells nothing of the inside.
 */
export function toHttpError(error: unknown, bodyLimit: number): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof Unavailable) return unavailable()
  if (error instanceof Overloaded) return overloaded()
  if (error instanceof OutcomeUnknown) {
    return new HttpError(
      503,
      'outcome_unknown',
      'The connection to the database was lost and the request may have taken effect; look before you send it again',
      {},
      { cause: error.cause }
    )
  }
  const { code, statusCode = 500 } = error as Partial<FastifyError>
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
  // @fastify/static refuses a path outside its folder with a 403: for a client there is nothing there.
  if (statusCode === 403 || statusCode === 404) return notFound()
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

/** Lets a client that was answered before its body came send the rest, so that it reads the answer, but not for ever. */
function endUnlessRead(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), restTimeout).unref()
  request.once('close', () => clearTimeout(timer))
}

/** Answers any error in the Error body, and logs the cause when the fault is on our side. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toHttpError(thrown, Number(request.server.initialConfig.bodyLimit))
  if (error.status >= 500 && error.cause !== undefined) {
    request.log[error.status === 500 ? 'error' : 'warn']({ err: error.cause }, error.code)
  }
  // Fastify closes the connection after any error of a body; one that was read to its end leaves nothing behind.
  if (request.raw.complete) reply.removeHeader('connection')
  else endUnlessRead(request.raw)
  void reply.code(error.status).headers(error.headers).send(error.body)
}
