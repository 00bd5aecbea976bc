import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { onRequestHookHandler } from 'fastify'
import { badRequest, type HttpError } from './errors.ts'
import { defaultHeaders } from './request-context.ts'

/** Milliseconds for which a rejected connection stays open, so that its client can read the response. */
const lingerTime = 1000

/** The characters of RFC 3986, section 3.2.2. Node.js joins repeated Host headers by a comma and a space. */
const validHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/

/** Rejects requests without one valid Host header (RFC 9112, section 3.2), which Node.js would do without an Error body. */
export const checkHost: onRequestHookHandler = ({ raw: { headers, httpVersion } }, _reply, next) => {
  const { host = httpVersion === '1.0' ? '' : undefined } = headers
  const isValid = host !== undefined && validHost.test(host)
  next(isValid ? undefined : badRequest('The request must have one valid Host header'))
}

/** Writes an error to a socket that has no Fastify reply, and closes the connection. */
export function respondAndClose(socket: Duplex, { status, body }: HttpError): void {
  const text = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    date: new Date().toUTCString(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close'
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  // Closing a socket with unread bytes resets the connection, and the client may lose the response: keep reading for a moment.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), lingerTime).unref()
}
