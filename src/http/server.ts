import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { respondAndClose } from './client-errors.ts'
import { badRequest, HttpError, toHttpError } from './errors.ts'

/**
 * Bytes that are parsed at once. Node.js parses a whole read of 64 KiB, which can be 3,500 pipelined requests with 2 KiB of
 * objects each: 150 connections with one such read ended a process that had 512 MB.
 */
const sliceSize = 512

/** The error for a request that breaks a rule of HTTP which Node.js does not check, or not with an Error body. */
function protocolError({ headers: { host, expect = '' }, httpVersion }: IncomingMessage): HttpError | undefined {
  const isOld = httpVersion === '1.0'
  if (!isOld && httpVersion !== '1.1') return badRequest('The request must be HTTP/1.1')
  // RFC 9112, section 3.2, in the characters of RFC 3986, section 3.2.2. Node.js joins several by a comma and a space.
  if (host === undefined ? !isOld : !/^[\w.~%!$&'()*+,;=:[\]-]*$/.test(host)) {
    return badRequest('The request must have one valid Host header')
  }
  if (isOld || expect === '' || /(^|\W)100-continue($|\W)/i.test(expect)) return undefined
  return new HttpError(417, 'expectation_failed', 'Expect must be 100-continue or be left out')
}

/**
 * A node:http server for Fastify, with the limits of the configuration. It handles one request of a connection at a time, so
 * that a response always has a socket, closes with it, and releases what it holds however its client leaves.
 */
export function httpServer(config: Config, log: FastifyBaseLogger) {
  /**
   * Per connection, the response that the service is sending or sent last, and those to pipelined requests (RFC 9112, section
   * 9.3.2) that wait.
   */
  const connections = new Map<Duplex, ServerResponse[]>()

  function accept(response: ServerResponse, handler: RequestListener): void {
    const { socket, headers } = response.req
    const responses = connections.get(socket) as ServerResponse[]
    if (responses.at(-1)?.shouldKeepAlive === false || !socket.writable) return
    // Node.js discards bytes behind a request to upgrade: what follows may not be the start of a request.
    if (headers.upgrade !== undefined) response.shouldKeepAlive = false
    if (responses[0]?.closed) responses.shift()
    responses.push(response)
    if (responses.length === 1) handle(response, responses, handler)
  }

  function handle(response: ServerResponse, responses: ServerResponse[], handler: RequestListener): void {
    response.once('close', () => {
      const [, next] = responses
      if (next === undefined) return response.req.socket.resume()
      if (!next.req.socket.writable) return
      responses.shift()
      handle(next, responses, handler)
    })
    const error = protocolError(response.req)
    if (error === undefined) handler(response.req, response)
    else respondAndClose(response.req.socket, error, response.req)
  }

  /** Parses what the socket reads in slices, and nothing while a request waits. */
  function parseInSlices(socket: Socket, responses: ServerResponse[]): void {
    const parse = socket.listeners('data')[0] as (bytes: Buffer) => void
    // With another listener than its own, Node.js passes bytes to listeners instead of directly to the parser.
    socket.off('data', parse).on('data', (bytes: Buffer) => {
      let start = 0
      // Node.js pauses the socket while the client does not read.
      for (; start < bytes.length && responses.length < 2 && !socket.isPaused(); start += sliceSize) {
        if (!socket.writable) return
        parse(bytes.subarray(start, start + sliceSize))
      }
      if (responses.length > 1) socket.pause()
      if (start < bytes.length) socket.unshift(bytes.subarray(start))
    })
  }

  /** Responds to what is not a valid request, unless the client would take the error for the response to an earlier request. */
  function reject(socket: Duplex, error: HttpError): void {
    const latest = connections.get(socket)?.[0]
    const isExpected = latest?.req.complete ? latest.closed : !latest?.headersSent
    if (isExpected && socket.writable) respondAndClose(socket, error)
    else socket.destroy()
  }

  /** Closes the connections that handle no request now, and the others after SHUTDOWN_TIMEOUT. A preClose hook. */
  function closeConnections(done: () => void): void {
    for (const [socket, [latest]] of connections) if (latest?.closed !== false) socket.destroy()
    setTimeout(() => {
      if (connections.size > 0) log.warn({ connections: connections.size }, 'closing connections at SHUTDOWN_TIMEOUT')
      for (const socket of connections.keys()) socket.destroy()
    }, config.SHUTDOWN_TIMEOUT).unref()
    done()
  }

  function serverFactory(handler: RequestListener): Server {
    const listener: RequestListener = (_request, response) => accept(response, handler)
    const options = {
      // Without Host, Node.js would respond without an Error body.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
      maxHeaderSize: config.HEADER_LIMIT,
      keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT,
      requestTimeout: config.REQUEST_TIMEOUT,
      // Node.js swaps the two if the one for headers is larger.
      headersTimeout: Math.min(config.HEADERS_TIMEOUT, config.REQUEST_TIMEOUT),
      connectionsCheckingInterval: 1000
    }
    const server = createServer(options, listener).setTimeout(config.IDLE_TIMEOUT)
    server.maxConnections = config.MAX_CONNECTIONS
    // Node.js drops headers beyond a count silently, even Authorization. HEADER_LIMIT limits their size instead.
    server.maxHeadersCount = 0
    server.on('connection', (socket) => {
      const responses: ServerResponse[] = []
      connections.set(socket, responses)
      parseInSlices(socket, responses)
      socket.once('close', () => connections.delete(socket))
      // Node.js removes its listener after CONNECT, and an error without a listener ends the process.
      socket.on('error', () => socket.destroy())
    })
    // Without this listener, Node.js sends 100 Continue before authentication.
    server.on('checkContinue', listener)
    server.on('checkExpectation', listener)
    server.on('connect', (_request, socket) => reject(socket, badRequest('CONNECT is for proxies')))
    return server
  }

  function clientErrorHandler({ code }: NodeJS.ErrnoException, socket: Socket): void {
    // What follows the last request or response of a connection is discarded (RFC 9112, section 9.6).
    if (code === 'HPE_CLOSED_CONNECTION' || socket.writableEnded) return
    reject(socket, toHttpError({ code, statusCode: 400 }))
  }

  return { options: { serverFactory, clientErrorHandler }, closeConnections }
}
