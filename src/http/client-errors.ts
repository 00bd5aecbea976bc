import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { badRequest, HttpError } from './errors.ts'
import { defaultHeaders, requestId } from './request-context.ts'

/** Milliseconds for which a rejected connection stays open, so that its client can read the response. */
const lingerTime = 1000

/** The response to bytes that Node.js rejects before Fastify sees a request: malformed HTTP, 408, 413 and 431. */
export function clientError(code: string | undefined): HttpError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError(408, 'request_timeout', 'The request did not arrive in time')
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(431, 'headers_too_large', 'The header section of the request is too large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new HttpError(413, 'payload_too_large', 'The chunk extensions of the body are too large')
    default:
      return badRequest('The request is not valid HTTP/1.1')
  }
}

/** Writes an error to a socket that has no Fastify reply, and closes the connection. */
export function respondAndClose(socket: Duplex, { status, body }: HttpError): void {
  const text = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Date: ${new Date().toUTCString()}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId({ headers: {} })}`,
      ...defaultHeaders.map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
      '',
      text
    ].join('\r\n')
  )
  // Closing a socket with unread bytes resets the connection and the client may lose the response: read on for a moment.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), lingerTime).unref()
}
