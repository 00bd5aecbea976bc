import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { badRequest, HttpError } from '../errors.ts'

/** More are closed at once. The proxy opens at most 2,000 to a replica. */
const maxClientConnections = 2048

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
  server.maxConnections = maxClientConnections
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
 * Responds to a request whose body is late or malformed. Bytes that are no
 * request get a bare 400, or a closed connection if the 400 could pass for the
 * response to another request. The proxy lets no such bytes through.
 */
export function handleClientError(
  { code }: NodeJS.ErrnoException,
  socket: Socket
): void {
  // The client has gone, or has its last response.
  if (!socket.writable) return

  const reply = newestReplies.get(socket)
  if (reply === undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
  else if (awaitsBody(reply))
    reply
      .header('connection', 'close')
      .send(
        code === 'ERR_HTTP_REQUEST_TIMEOUT' ? lateBodyError : malformedBodyError
      )
  else socket.destroy()
}

/** Whether the rest of a request is missing, and its response may be sent. */
const awaitsBody = ({ raw, request }: FastifyReply): boolean =>
  // A response that waits for an earlier one has no socket.
  !request.raw.complete && !raw.headersSent && raw.socket !== null

const lateBodyError = new HttpError(
  408,
  'request_timeout',
  'The request did not arrive in time'
)

const malformedBodyError = badRequest('The request is not valid HTTP/1.1')
