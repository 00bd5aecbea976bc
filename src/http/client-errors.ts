import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpError } from './errors.ts'
import { defaultHeaders, requestId } from './request-context.ts'

/** Milliseconds for which a rejected connection stays open, so that its client can read the response. */
const lingerTime = 1000

/**
 * Writes an error to a socket that has no Fastify reply, and closes the connection.
 *
 * @param request if one was parsed
 */
export function respondAndClose(socket: Duplex, { status, body }: HttpError, request?: IncomingMessage): void {
  const text = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(requestId(request ?? { headers: {} })),
    date: new Date().toUTCString(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close'
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${request?.method === 'HEAD' ? '' : text}`
  )
  // Closing a socket with unread bytes resets the connection, and the client may lose the response: read on for a moment.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), lingerTime).unref()
}
