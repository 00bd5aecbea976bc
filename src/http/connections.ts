import { randomUUID } from 'node:crypto'
import {
  createServer,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES
} from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { type HttpError, toHttpError } from './errors.ts'
import { defaultHeaders } from './access-log.ts'

/** Bytes that are parsed at once. In 64 KiB, which Node.js would parse, 3,500 requests can be pipelined. */
const sliceSize = 512

interface Connection {
  /** The response to its newest request. */
  latest?: ServerResponse
  /** Its requests without a complete response, as functions that handle them. The first one is being handled. */
  pending: (() => void)[]
}

/**
 * A node:http server for Fastify, with the limits of the configuration. It handles one request of a connection at a time, so
 * that a response always has a socket, closes with it, and releases what it holds however its client leaves.
 */
export function httpServer(config: Config, log: FastifyBaseLogger) {
  const connections = new Map<Duplex, Connection>()

  /** Handles a request once the requests before it have their responses (RFC 9112, section 9.3.2). */
  function accept(response: ServerResponse, handle: () => void): void {
    const { socket, headers } = response.req
    const connection = connections.get(socket) as Connection
    const { latest, pending } = connection
    if (latest?.shouldKeepAlive === false || !socket.writable) return
    // Node.js discards bytes behind a request to upgrade: what follows may not be the start of a request.
    if (headers.upgrade !== undefined) response.shouldKeepAlive = false
    connection.latest = response
    response.once('close', () => {
      pending.shift()
      if (socket.writable) pending[0]?.()
      socket.resume()
    })
    if (pending.push(handle) === 1) handle()
  }

  function open(socket: Duplex): void {
    const pending: Connection['pending'] = []
    connections.set(socket, { pending })
    socket.once('close', () => connections.delete(socket))
    // With a listener other than its own, Node.js passes bytes to listeners instead of directly to the parser.
    const parse = socket.listeners('data')[0] as (bytes: Buffer) => void
    socket.off('data', parse).on('data', (bytes: Buffer) => {
      let start = 0
      // Node.js pauses the socket while the client does not read.
      for (
        ;
        start < bytes.length && pending.length < 2 && !socket.isPaused();
        start += sliceSize
      ) {
        if (!socket.writable) return
        parse(bytes.subarray(start, start + sliceSize))
      }
      // Nothing is parsed while a request waits.
      if (pending.length > 1) socket.pause()
      if (start < bytes.length) socket.unshift(bytes.subarray(start))
    })
  }

  /** Responds to an invalid request, unless the client would take the error for the response to an earlier request. */
  function clientErrorHandler(
    { code }: NodeJS.ErrnoException,
    socket: Duplex
  ): void {
    // What follows the last request or response of a connection is discarded (RFC 9112, section 9.6).
    if (code === 'HPE_CLOSED_CONNECTION' || socket.writableEnded) return
    const { latest, pending = [] }: Partial<Connection> = {
      ...connections.get(socket)
    }
    const isInBody = latest?.req.complete === false
    /** Responses that are due before the one to this request. */
    const earlier = pending.length - Number(isInBody)
    // A request that is late because nothing is parsed before the response to an earlier one must not cut that off.
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && earlier > 0) return
    const isExpected = earlier === 0 && !(isInBody && latest.headersSent)
    if (isExpected && socket.writable)
      respondAndClose(socket, toHttpError({ code, statusCode: 400 }).body)
    else socket.destroy()
  }

  /** A preClose hook. Closes each connection when no response is due, at SHUTDOWN_TIMEOUT_MS at the latest. */
  function closeConnections(done: () => void): void {
    for (const [socket, { latest }] of connections) {
      if (latest?.closed === false) {
        latest.shouldKeepAlive = false
        // Its headers may have been sent, without Connection: close.
        latest.once('close', () => latest.req.socket.destroySoon())
      } else socket.destroy()
    }
    setTimeout(() => {
      if (connections.size > 0)
        log.warn(
          { connections: connections.size },
          'closing connections at SHUTDOWN_TIMEOUT_MS'
        )
      for (const socket of connections.keys()) socket.destroy()
    }, config.SHUTDOWN_TIMEOUT_MS).unref()
    done()
  }

  function serverFactory(handler: RequestListener): Server {
    const listener: RequestListener = (request, response) =>
      accept(response, () => handler(request, response))
    const options = {
      // Without Host, Node.js would respond without an Error body.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
      maxHeaderSize: config.MAX_HEADER_BYTES,
      keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS,
      requestTimeout: config.REQUEST_TIMEOUT_MS,
      // Node.js swaps the two timeouts if this one is larger.
      headersTimeout: Math.min(
        config.HEADERS_TIMEOUT_MS,
        config.REQUEST_TIMEOUT_MS
      ),
      connectionsCheckingInterval: 1000
    }
    const server = createServer(options, listener).setTimeout(
      config.IDLE_TIMEOUT_MS
    )
    server.maxConnections = config.MAX_CONNECTIONS
    // Node.js drops headers beyond a count silently, even Authorization. MAX_HEADER_BYTES limits their size instead.
    server.maxHeadersCount = 0
    server.on('connection', open)
    // Other expectations than 100-continue may be ignored (RFC 9110, section 10.1.1).
    server.on('checkExpectation', listener)
    return server
  }

  return { options: { serverFactory, clientErrorHandler }, closeConnections }
}

/** Writes an error to a socket that has no Fastify reply, and closes the connection. */
function respondAndClose(socket: Duplex, body: HttpError['body']): void {
  const text = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    date: new Date().toUTCString(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close'
  }
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${value}\r\n`
  )
  socket.end(
    `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}\r\n${lines.join('')}\r\n${text}`
  )
  // Closing a socket with unread bytes resets the connection, and the client may lose the response: keep reading for a second.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), 1000).unref()
}
