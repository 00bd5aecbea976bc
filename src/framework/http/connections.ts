import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyServerOptions } from 'fastify'
import type { Config } from '../config.ts'
import type { HttpError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'
import { defaultHeaders } from './default-headers.ts'
import { parserErrorOf } from './error-responses.ts'

/** More are closed at once. The proxy opens at most 2,000 to a replica. */
const maxConnections = 2048

/** Milliseconds to receive a complete request, and between checks of it. */
const requestTimeoutMs = 30_000
const timeoutCheckIntervalMs = 1000

/** Milliseconds for one more request on a connection, during a shutdown. */
const lastRequestMs = 1000

/** The reply to the newest request of each connection. */
export type NewestReplies = WeakMap<Socket, FastifyReply>

/**
 * Returns the options of Fastify that limit its connections. What is not HTTP,
 * or comes too late, gets an Error body. The proxy in front of the service
 * handles everything else that clients may do to a connection.
 */
export function connectionOptions(
  config: Config,
  metrics: Metrics,
  newestReplies: NewestReplies
) {
  const sockets = new Set<Socket>()
  const help = 'Open connections of clients and proxies'
  metrics.gauge('http_connections', help, [], (gauge) =>
    gauge.set(sockets.size)
  )
  const isInUse = (socket: Socket) =>
    newestReplies.get(socket)?.raw.closed === false

  return {
    serverFactory: (handler) => {
      const server = openHttpServer(config.IDLE_TIMEOUT_MS, handler)
      server.on('connection', (socket: Socket) => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
      })
      // Fastify calls this method at shutdown. That of Node.js would also cut
      // off responses that are still being sent.
      server.closeIdleConnections = () => {
        // A client that was told to keep its connection may send one more
        // request.
        server.keepAliveTimeout = lastRequestMs
        for (const socket of sockets) if (!isInUse(socket)) socket.destroy()
      }
      return server
    },

    clientErrorHandler: ({ code }, socket) => {
      // The client has gone, or has its last response.
      if (!socket.writable) return
      const error = parserErrorOf(code)
      const reply = newestReplies.get(socket)
      if (reply === undefined || hasEnded(reply)) {
        metrics.httpErrors.inc({ operation: 'none', code: error.body.code })
        socket.end(errorText(error))
      } else if (awaitsBody(reply)) {
        reply.raw.shouldKeepAlive = false
        reply.send(error)
      } else {
        socket.destroy()
      }
    }
  } satisfies FastifyServerOptions
}

function openHttpServer(idleTimeoutMs: number, handler: RequestListener) {
  const server = createServer(
    {
      // Without Host, Node.js would respond without an Error body.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
      keepAliveTimeout: idleTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: timeoutCheckIntervalMs
    },
    handler
  )
  // Other expectations than 100-continue may be ignored (RFC 9110, section
  // 10.1.1).
  server.on('checkExpectation', handler)
  server.timeout = idleTimeoutMs
  server.maxConnections = maxConnections

  return server
}

/** Whether what the connection receives now belongs to another request. */
const hasEnded = ({ raw, request }: FastifyReply): boolean =>
  raw.closed && request.raw.complete

/** Whether the rest of a request is missing, and its response may be sent. */
const awaitsBody = ({ raw, request }: FastifyReply): boolean =>
  // A response that waits for an earlier one has no socket.
  !request.raw.complete && !raw.headersSent && raw.socket !== null

/** The bytes of an error for bytes that are not a request. */
function errorText({ body }: HttpError): string {
  const json = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
    connection: 'close'
  }
  const lines = Object.entries(headers).map((header) => header.join(': '))
  const statusLine = `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}`

  return [statusLine, ...lines, '', json].join('\r\n')
}
