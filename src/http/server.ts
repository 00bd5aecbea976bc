import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { clientError, respondAndClose } from './client-errors.ts'
import { badRequest, type HttpError } from './errors.ts'

/**
 * Bytes that are parsed at once. Node.js parses a whole read of 64 KiB, which can be 3,500 pipelined requests with 2 KiB of
 * objects each: 150 connections with one such read ended a process that had 512 MB.
 */
const sliceSize = 512

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

interface Connection {
  /** The request that the service handles, or handled last. */
  latest?: Exchange
  /** Pipelined requests (RFC 9112, section 9.3.2) that it has not handled yet, in their order. */
  waiting: Exchange[]
}

/** What Fastify needs to run on the server, and the way to end its connections. */
export interface HttpServer {
  options: {
    serverFactory: (handler: RequestListener) => Server
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => void
  }
  /** A preClose hook: closes the connections without a request now, and the rest after SHUTDOWN_TIMEOUT. */
  closeConnections: (done: () => void) => void
}

export type HttpServerConfig = Pick<
  Config,
  | 'HEADER_LIMIT'
  | 'HEADERS_TIMEOUT'
  | 'REQUEST_TIMEOUT'
  | 'KEEP_ALIVE_TIMEOUT'
  | 'IDLE_TIMEOUT'
  | 'MAX_CONNECTIONS'
  | 'SHUTDOWN_TIMEOUT'
>

/**
 * A node:http server with the limits of the configuration. A connection has one request handled at a time: a response then
 * always has a socket, closes with it, and what the request holds is released however its client leaves.
 */
export function httpServer(config: HttpServerConfig, log: FastifyBaseLogger): HttpServer {
  const connections = new Map<Duplex, Connection>()

  function handle(connection: Connection, exchange: Exchange, handler: RequestListener): void {
    connection.latest = exchange
    exchange.response.once('close', () => {
      const next = connection.waiting.shift()
      if (next === undefined) exchange.request.socket.resume()
      else if (next.request.socket.writable) handle(connection, next, handler)
    })
    handler(exchange.request, exchange.response)
  }

  function accept(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    const connection = connections.get(request.socket) as Connection
    const { latest, waiting } = connection
    if ((waiting.at(-1) ?? latest)?.response.shouldKeepAlive === false) return
    // Node.js discards some of the bytes that follow a request to upgrade: the next ones may not be a request.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    if (isClosed(latest)) handle(connection, { request, response }, handler)
    else waiting.push({ request, response })
  }

  /** Has the bytes that the socket reads parsed in slices, and no further while a request waits. */
  function parseInSlices(socket: Socket, { waiting }: Connection): void {
    const parse = socket.listeners('data')[0] as (bytes: Buffer) => void
    // With a listener from outside, the socket gives its bytes to listeners, and no longer to the parser directly.
    socket.off('data', parse).on('data', (bytes: Buffer) => {
      let start = 0
      // Node.js pauses the socket itself while the client does not read.
      for (; start < bytes.length && waiting.length === 0 && !socket.isPaused(); start += sliceSize) {
        if (!socket.writable) return
        parse(bytes.subarray(start, start + sliceSize))
      }
      if (waiting.length > 0) socket.pause()
      if (start < bytes.length) socket.unshift(bytes.subarray(start))
    })
  }

  /** Responds to what is not a request, unless the client would take the error for the response to an earlier request. */
  function reject(socket: Duplex, error: HttpError): void {
    const latest = connections.get(socket)?.latest
    const isExpected = latest?.request.complete ? latest.response.closed : !latest?.response.headersSent
    if (isExpected && socket.writable) respondAndClose(socket, error)
    else socket.destroy()
  }

  return {
    options: {
      serverFactory(handler) {
        const options = {
          // Node.js would respond to a missing Host without our Error body; `requests` checks it.
          requireHostHeader: false,
          maxHeaderSize: config.HEADER_LIMIT,
          keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT,
          requestTimeout: config.REQUEST_TIMEOUT,
          // Node.js swaps the two when the one for headers is larger.
          headersTimeout: Math.min(config.HEADERS_TIMEOUT, config.REQUEST_TIMEOUT),
          connectionsCheckingInterval: 1000
        }
        const listener: RequestListener = (request, response) => accept(request, response, handler)
        const server = createServer(options, listener)
        server.setTimeout(config.IDLE_TIMEOUT)
        server.maxConnections = config.MAX_CONNECTIONS
        // Node.js drops headers beyond a count silently, Authorization too; their size is limited instead.
        server.maxHeadersCount = 0
        server.on('connection', (socket) => {
          const connection = { waiting: [] }
          connections.set(socket, connection)
          parseInSlices(socket, connection)
          socket.once('close', () => connections.delete(socket))
          // Node.js removes its listener after CONNECT, and an error without a listener ends the process.
          socket.on('error', () => socket.destroy())
        })
        // Requests with an expectation (RFC 9110, section 10.1.1) are routed before their client is told to send the body.
        server.on('checkContinue', listener)
        server.on('checkExpectation', listener)
        server.on('connect', (_request, socket) => reject(socket, badRequest('CONNECT is for proxies')))
        return server
      },
      clientErrorHandler(error, socket) {
        if (error.code === 'ECONNRESET') socket.destroy()
        // What follows the last request or response of a connection is discarded (RFC 9112, section 9.6).
        else if (error.code !== 'HPE_CLOSED_CONNECTION' && !socket.writableEnded) {
          reject(socket, clientError(error.code))
        }
      }
    },
    closeConnections(done) {
      for (const [socket, { latest }] of connections) if (isClosed(latest)) socket.destroy()
      setTimeout(() => {
        if (connections.size > 0) {
          log.warn({ connections: connections.size }, 'closing connections at SHUTDOWN_TIMEOUT')
          for (const socket of connections.keys()) socket.destroy()
        }
      }, config.SHUTDOWN_TIMEOUT).unref()
      done()
    }
  }
}

const isClosed = (exchange: Exchange | undefined) => exchange === undefined || exchange.response.closed
