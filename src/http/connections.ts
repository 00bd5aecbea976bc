import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { HttpError } from '../errors.ts'
import {
  defaultHeaders,
  headersBeforeHooks,
  parserErrorOf
} from './error-responses.ts'

/** More are closed at once. The proxy opens at most 2,000 to a replica. */
const maxConnections = 2048

/** Milliseconds for one more request on a connection, during a shutdown. */
const lastRequestMs = 1000

/** The reply to the newest request of each connection. */
const newestReplies = new WeakMap<Socket, FastifyReply>()

/**
 * Limits the connections of the server, and lets a shutdown finish the
 * responses that clients are still reading: `closeIdleConnections` of Node.js,
 * which a close of the server calls, cuts them off.
 */
export function manageConnections(app: FastifyInstance): void {
  const { server } = app
  const sockets = new Set<Socket>()
  server.maxConnections = maxConnections
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    newestReplies.set(raw.socket, reply)
    done()
  })

  // In place of the method of Node.js, which Fastify calls when it closes.
  server.closeIdleConnections = () => {
    // A client that was told to keep its connection may send one more request.
    server.keepAliveTimeout = lastRequestMs
    for (const socket of sockets) {
      const isInUse = newestReplies.get(socket)?.raw.closed === false
      if (!isInUse) socket.destroy()
    }
  }
}

/**
 * Responds to bytes that are not a request, or came too late, unless the client
 * would take the response for that of another request.
 */
export function rejectConnection(
  { code }: NodeJS.ErrnoException,
  socket: Socket
): void {
  // The client has gone, or has its last response.
  if (!socket.writable) return

  const error = parserErrorOf(code)
  const reply = newestReplies.get(socket)
  if (reply === undefined || hasEnded(reply)) socket.end(bytesOf(error))
  else if (awaitsBody(reply)) reply.header('connection', 'close').send(error)
  else socket.destroy()
}

/** Whether what the connection receives now belongs to another request. */
const hasEnded = ({ raw, request }: FastifyReply): boolean =>
  raw.closed && request.raw.complete

/** Whether the rest of a request is missing, and its response may be sent. */
const awaitsBody = ({ raw, request }: FastifyReply): boolean =>
  // A response that waits for an earlier one has no socket.
  !request.raw.complete && !raw.headersSent && raw.socket !== null

/** The response to bytes that are not a request. */
function bytesOf({ body }: HttpError): string {
  const json = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    ...headersBeforeHooks,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json)
  }
  const lines = Object.entries(headers).map((header) => header.join(': '))
  const statusLine = `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}`

  return [statusLine, ...lines, '', json].join('\r\n')
}
