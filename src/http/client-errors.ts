import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { onRequestHookHandler } from 'fastify'
import { badRequest, HttpError } from './errors.ts'
import { defaultHeaders } from './request-context.ts'

/** Milliseconds for which a rejected connection stays open, so that its client can read the response. */
const lingerTime = 1000

/** The characters of RFC 3986, section 3.2.2. Node.js joins repeated Host headers by a comma and a space. */
const validHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/

/** Rejects requests that break a rule of RFC 9110 or 9112 that Node.js does not enforce. */
export const checkProtocol: onRequestHookHandler = ({ raw: { headers, httpVersion } }, _reply, next) => {
  const isOld = httpVersion === '1.0'
  const { host = isOld ? '' : undefined, expect = '' } = headers
  if (!isOld && httpVersion !== '1.1') {
    next(badRequest('The request must be HTTP/1.1'))
  } else if (host === undefined || !validHost.test(host)) {
    next(badRequest('The request must have one valid Host header'))
  } else if (!isOld && expect !== '' && !/(^|\W)100-continue($|\W)/i.test(expect)) {
    next(new HttpError(417, 'expectation_failed', 'Expect must be 100-continue or be left out'))
  } else {
    next()
  }
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
