import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { clientError, respondAndClose } from './client-errors.ts'
import { badRequest, type HttpError } from './errors.ts'

/** Pipelined requests that wait on a connection. Further ones are not read, and the connection closes after the last response. */
const maxWaiting = 32

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
      if (next?.request.socket.writable) handle(connection, next, handler)
    })
    handler(exchange.request, exchange.response)
  }

  function accept(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    const connection = connections.get(request.socket) as Connection
    const { latest, waiting } = connection
    if (isClosed(latest)) handle(connection, { request, response }, handler)
    else if (waiting.length < maxWaiting) waiting.push({ request, response })
    else {
      const last = waiting.at(-1) as Exchange
      last.response.shouldKeepAlive = false
      request.socket.pause()
    }
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
          connections.set(socket, { waiting: [] })
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
        // After a response that closes the connection, what still arrives is discarded.
        else if (!socket.writableEnded) reject(socket, clientError(error.code))
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
