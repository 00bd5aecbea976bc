/**
 * An error with its response. The message tells the client how to correct the
 * request.
 */
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

/**
 * 404: a path names something that does not exist.
 *
 * @param thing such as `pet`
 */
export const notFound = (thing: string, id: bigint | string) =>
  new HttpError(404, 'not_found', `There is no ${thing} with the id ${id}`)

/** For a response after which the same request may succeed. */
export const retryLater = { 'retry-after': '1' }

/** 503 without an effect. */
export const unavailableBecause = (message: string) =>
  new HttpError(503, 'unavailable', message, retryLater)

/** 503: the service cannot run the request now. */
export const unavailable = unavailableBecause(
  'The service is unavailable; the request had no effect: retry'
)
