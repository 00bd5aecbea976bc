// All that the service uses of Node.js beyond its documentation. These tests in
// test/framework/http fail when Node.js changes it:
//
// | used                              | test                               |
// |-----------------------------------|------------------------------------|
// | destroySoon() of a socket         | pipelining: goes on sending        |
// | no parser without 'data' listener | pipelining: nothing is handled     |
// | push() of a request               | connections: in over 100 parts     |
// | httpAllowHalfOpen                 | connections: closes its side       |
// | close() calls closeIdle…          | connections: a shutdown closes     |
import { randomUUID } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  STATUS_CODES
} from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyServerOptions } from 'fastify'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { defaultHeaders } from './default-headers.ts'
import {
  badRequest,
  type HttpError,
  invalidHttp,
  parserErrorOf
} from '../errors.ts'

/** Milliseconds to receive further input after the last response. */
const lingerMs = 1000

/**
 * Names and values of headers. Node.js limits their size, but keeps objects for
 * each of thousands.
 */
const maxRawHeaders = 400

/**
 * Parts of a body: each takes up to 700 bytes more than its content. A body of
 * 64 KiB, the largest, fits into 54 packets of the smallest size of IPv6.
 */
const maxBodyParts = 100

const tooManyParts = badRequest(
  `The body arrived in over ${maxBodyParts} parts: send larger ones`
)

/** Milliseconds between two checks of the timeouts of incomplete requests. */
const timeoutCheckIntervalMs = 1000

/** The open connections, each with the response to its newest request. */
type Connections = Map<Socket, ServerResponse | undefined>

/**
 * Returns the options of Fastify that handle and limit its connections.
 *
 * A connection has one request at a time. It closes if another one arrives
 * before the response: Node.js would start all of them together, and before
 * 24.16.0 their responses leak when the client leaves (nodejs/node#62534).
 */
export function connectionOptions(config: Config, metrics: Metrics) {
  const connections: Connections = new Map()
  addGauges(metrics, connections, config.MAX_CONNECTIONS)

  /** Rejects bytes that are not HTTP, or came too late. */
  function reject(socket: Socket, error: HttpError, method?: string): void {
    // The client has gone, or has its last response.
    if (!socket.writable) return
    metrics.httpErrors.inc({ operation: 'none', code: error.body.code })
    if (!mayRespond(connections.get(socket))) socket.destroy()
    else close(socket, errorText(error, method))
  }

  const guard =
    (handler: RequestListener): RequestListener =>
    (request, response) => {
      const { socket } = request
      if (isBusy(connections.get(socket))) {
        socket.destroy()
        return
      }
      connections.set(socket, response)
      const fault = faultOf(request)
      if (fault !== undefined) return reject(socket, fault, request.method)
      // Node.js discards the bytes that it has read behind an upgrade: if they
      // began another request, the rest of it could not be parsed.
      if (request.headers.upgrade !== undefined)
        response.shouldKeepAlive = false

      limitParts(request, () => reject(socket, tooManyParts, request.method))
      handler(request, response)
    }

  function track(socket: Socket): void {
    connections.set(socket, undefined)
    // Node.js calls this after the last response of a connection.
    socket.destroySoon = () => close(socket)
    socket.once('close', () => connections.delete(socket))
  }

  return {
    serverFactory: (handler) =>
      openHttpServer(config, connections, guard(handler)).on(
        'connection',
        track
      ),
    clientErrorHandler: ({ code }, socket) =>
      reject(socket, parserErrorOf(code))
  } satisfies FastifyServerOptions
}

function addGauges(
  metrics: Metrics,
  connections: Connections,
  maxConnections: number
): void {
  metrics.gauge(
    'http_connections',
    'Open connections of clients and proxies',
    [],
    (gauge) => gauge.set(connections.size)
  )
  metrics.gauge('http_connections_max', 'MAX_CONNECTIONS').set(maxConnections)
  metrics.gauge(
    'http_requests_in_flight',
    'Requests without a complete response',
    [],
    (gauge) => {
      const responses = [...connections.values()]
      gauge.set(responses.filter(isBusy).length)
    }
  )
}

function openHttpServer(
  config: Config,
  connections: Connections,
  accept: RequestListener
) {
  const server = createServer(
    {
      // Without Host, Node.js would respond without an Error body.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
      keepAliveTimeout: config.IDLE_TIMEOUT_MS,
      requestTimeout: config.REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: timeoutCheckIntervalMs
    },
    accept
  )
  // Other expectations than 100-continue may be ignored (RFC 9110, section
  // 10.1.1).
  server.on('checkExpectation', accept)

  return Object.assign(server, {
    timeout: config.IDLE_TIMEOUT_MS,
    maxConnections: config.MAX_CONNECTIONS,
    // Node.js would silently drop those beyond the count, even Authorization.
    maxHeadersCount: 0,
    // A client may close its sending half after a request. It still receives
    // the response.
    httpAllowHalfOpen: true,
    // At shutdown, closes the connections without a request. The method of
    // Node.js would also cut off responses that are not sent completely.
    closeIdleConnections() {
      // A response that has begun may have promised to keep its connection
      // open. Its client has this time to send another request.
      server.keepAliveTimeout = lingerMs
      // A request whose headers are arriving is lost: SHUTDOWN_DELAY_MS lets
      // clients go to another replica first.
      for (const [socket, response] of connections)
        if (!isBusy(response)) close(socket)
    }
  })
}

/**
 * Returns why a request that Node.js accepts is rejected. It has too many
 * headers, or is HTTP/0.9 or HTTP/2.0 by its first line. Or RFC 9112 forbids
 * it: it has no Host, or one with a space, because Node.js joins several by a
 * comma and a space (section 3.2), or a coding by which a proxy may see the end
 * of the body elsewhere (section 6.1). Or Fastify takes its URL for another.
 */
function faultOf(request: IncomingMessage) {
  if (request.rawHeaders.length > maxRawHeaders)
    return parserErrorOf('HPE_HEADER_OVERFLOW')

  if (!request.httpVersion.startsWith('1')) return invalidHttp
  const isOld = request.httpVersion === '1.0'
  const { host, 'transfer-encoding': coding } = request.headers
  if (host === undefined ? !isOld : host.includes(' '))
    return badRequest('The request must have one valid Host header')
  if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked'))
    return badRequest('Transfer-Encoding must be chunked, in HTTP/1.1')
  if (request.url === '*') return badRequest('The URL must have a path')
}

/**
 * Calls `rejectBody` if a body has too many parts. Passes on neither further
 * parts nor the end of the body: what came before could be valid.
 */
function limitParts(request: IncomingMessage, rejectBody: () => void): void {
  const push = request.push.bind(request)
  let count = 0

  request.push = (part) => {
    if (part !== null) count++
    if (count <= maxBodyParts) return push(part)
    rejectBody()
    // Otherwise, Node.js would stop reading.
    return true
  }
}

/**
 * Whether a connection may get an error for bytes that are not HTTP.
 *
 * @param last the response to its last request with complete headers
 */
function mayRespond(last?: ServerResponse): boolean {
  const isInBody = last?.req.complete === false
  // The request may have its response: it gets no second one.
  if (isInBody) return !last.headersSent
  // The bytes are the next request: its response must come after the last.
  return !isBusy(last)
}

/** Whether a request needs the rest of its response. */
const isBusy = (last?: ServerResponse): boolean => last?.closed === false

/**
 * Ends a connection, after `text`. Closing a socket with unread bytes would
 * reset the connection, and the client may lose the response: keep reading
 * until the client closes too, or for a second.
 */
function close(socket: Socket, text = ''): void {
  // At shutdown, Node.js and closeIdleConnections may both close it.
  if (socket.writableEnded) return
  socket.end(text)
  // Without its listener, Node.js no longer parses what it reads.
  socket.removeAllListeners('data')
  socket.on('data', () => {}).resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** The bytes of an error for a socket that has no Fastify reply. */
function errorText({ body }: HttpError, method?: string): string {
  const json = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    date: new Date().toUTCString(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
    connection: 'close'
  }
  const lines = Object.entries(headers).map((header) => header.join(': '))
  const statusLine = `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}`

  const content = method === 'HEAD' ? '' : json
  return [statusLine, ...lines, '', content].join('\r\n')
}
