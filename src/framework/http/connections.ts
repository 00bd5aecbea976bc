import {
  createServer,
  type RequestListener,
  type Server,
  type ServerOptions
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { Connection } from './connection.ts'

declare module 'node:http' {
  interface Server {
    /** Not in Node.js's documentation, but one of its options since 2010. */
    httpAllowHalfOpen: boolean
  }
}

/** Milliseconds between two checks of the timeouts of incomplete requests. */
const timeoutCheckIntervalMs = 1000

/** The connections of a node:http server for Fastify, within their limits. */
export class Connections {
  readonly #open = new Map<Duplex, Connection>()
  readonly #config: Config
  readonly #log: FastifyBaseLogger
  readonly #metrics: Metrics

  constructor(config: Config, log: FastifyBaseLogger, metrics: Metrics) {
    this.#config = config
    this.#log = log
    this.#metrics = metrics
    metrics.maxConnections.set(config.MAX_CONNECTIONS)
  }

  /** The option `serverFactory` of Fastify. */
  createServer = (handler: RequestListener): Server => {
    const accept: RequestListener = (request, response) => {
      if (this.#open.get(request.socket)?.accept(response))
        handler(request, response)
    }

    const server = createServer(serverOptions(this.#config), accept)
    server.setTimeout(this.#config.IDLE_TIMEOUT_MS)
    server.maxConnections = this.#config.MAX_CONNECTIONS
    // Node.js silently drops headers beyond a count, even Authorization.
    // MAX_HEADER_BYTES limits their size instead.
    server.maxHeadersCount = 0
    // A client may close its sending half after a request. It still receives
    // the response.
    server.httpAllowHalfOpen = true
    // Fastify and Node.js call it at shutdown. Node.js's own would also close
    // connections whose response has ended, but is not sent completely.
    server.closeIdleConnections = () => {
      for (const connection of this.#open.values()) connection.shutDown()
    }

    server.on('connection', (socket) => this.#add(socket))
    server.on('connect', ({ socket }) => this.#open.get(socket)?.onConnect())
    // Other expectations than 100-continue may be ignored (RFC 9110, section
    // 10.1.1).
    server.on('checkExpectation', accept)

    return server
  }

  /** The option `clientErrorHandler` of Fastify. */
  onClientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    this.#open.get(socket)?.onClientError(error)
  }

  /**
   * A preClose hook. Closes the connections that remain at SHUTDOWN_TIMEOUT_MS.
   */
  limitShutdown = (done: () => void): void => {
    setTimeout(
      () => this.#destroyAll(),
      this.#config.SHUTDOWN_TIMEOUT_MS
    ).unref()
    done()
  }

  #add(socket: Socket): void {
    this.#open.set(socket, new Connection(socket, this.#metrics))
    const { openConnections } = this.#metrics
    openConnections.inc()
    socket.once('close', () => {
      this.#open.delete(socket)
      openConnections.dec()
    })
  }

  #destroyAll(): void {
    const connections = this.#open.size
    if (connections > 0) {
      this.#log.warn(
        { connections },
        'closing connections at SHUTDOWN_TIMEOUT_MS'
      )
    }
    for (const connection of this.#open.values()) connection.destroy()
  }
}

function serverOptions(config: Config): ServerOptions {
  return {
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
    connectionsCheckingInterval: timeoutCheckIntervalMs
  }
}
