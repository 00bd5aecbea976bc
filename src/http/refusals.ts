import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { badRequest, HttpError } from './errors.ts'
import { defaultHeaders, requestId } from './requests.ts'

/** Milliseconds in which a client may read the answer to a request that Node could not parse. */
const lingerTime = 1000

/** Answers in the Error body what Node refuses before Fastify sees a request: bytes that are not HTTP, 408 and 431. */
export function refuse(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: ServerResponse }): void {
  // Answered already: what still comes is of the same request.
  if (socket.writableEnded) return
  // An answer that is already on its way must not have another one written into it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy()
    return
  }
  answerAndClose(socket, malformed(error.code))
}

function answerAndClose(socket: Duplex, { status, body }: HttpError): void {
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
  // Closing with unread bytes resets the connection, and the client may lose the answer: read on for a moment.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), lingerTime).unref()
}

function malformed(code: string | undefined): HttpError {
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

/** Answers CONNECT, which is for proxies and which Node does not hand to Fastify. */
export function refuseConnect(server: Server): void {
  server.on('connect', (_request, socket) => answerAndClose(socket, badRequest('CONNECT is for proxies')))
}
