import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Metrics } from '../metrics.ts'
import { defaultHeaders } from './default-headers.ts'
import { badRequest, type HttpError, parserError } from './errors.ts'
import { hasUnsupportedCoding } from './valid-http.ts'

/**
 * - idle: no response is due.
 * - busy: a response is due. More requests may follow it.
 * - last: a response is due. The connection closes after it.
 * - closing: the last response is sent. What still arrives is discarded.
 */
type State = 'idle' | 'busy' | 'last' | 'closing'

/**
 * Requests that a connection drops before it closes immediately. Node.js keeps
 * 2 KB for each one until then, and one read of 64 KiB may contain 3,600.
 */
const maxDroppedRequests = 32

const connectRejected = badRequest('The method CONNECT is not supported')

/** Milliseconds to receive the rest of the input after the last response. */
const lingerMs = 1000

/**
 * A connection handles one request at a time. A request that arrives before the
 * response to an earlier one is dropped, and the connection closes after that
 * response (RFC 9112, section 9.3.2).
 *
 * Node.js would start all pipelined requests together and queue their
 * responses. Before 24.16.0, these never emit `close` when the client leaves,
 * so their memory would leak (nodejs/node#62534; 20 and 22 have no fix).
 */
export class Connection {
  #state: State = 'idle'
  /** The response to the newest request that was accepted. */
  #response: ServerResponse | undefined
  #droppedRequests = 0
  readonly #socket: Socket
  readonly #metrics: Metrics

  constructor(socket: Socket, metrics: Metrics) {
    this.#socket = socket
    this.#metrics = metrics
    // Node.js calls this after the last response of a connection.
    socket.destroySoon = () => this.#close()
    // Node.js removes its own listener after a CONNECT.
    socket.on('error', () => {})
  }

  /** Returns whether to handle a request. */
  accept(response: ServerResponse): boolean {
    if (this.#state !== 'idle') {
      this.#drop()
      return false
    }

    this.#state = 'busy'
    this.#response = response
    response.once('close', () => this.#onResponseClosed())

    const { headers } = response.req
    // Node.js discards the bytes behind an upgrade: the next ones may be the
    // middle of a request.
    const isLast =
      headers.upgrade !== undefined || hasUnsupportedCoding(response.req)
    if (isLast) this.#announceClose()

    return true
  }

  /**
   * Handles bytes that are not HTTP, and requests that take too long. The
   * client would take the error for a response that is due, and a request has
   * one response: the error is only sent where neither is so.
   */
  onClientError({ code = '' }: NodeJS.ErrnoException): void {
    // What follows the last response is discarded (RFC 9112, section 9.6).
    if (this.#state === 'closing') return

    const { body } = parserError(code)
    if (isOfParser(code)) this.#metrics.parserErrors.inc({ code: body.code })

    const isInBody = this.#isInBody()
    const isAnswered = isInBody && this.#response?.headersSent
    if (this.#isResponseDue() && (isAnswered || !isInBody))
      this.#closeAfterResponse()
    else this.#close(isAnswered ? '' : errorText(body))
  }

  #isInBody(): boolean {
    return this.#response?.req.complete === false
  }

  /** Rejects a CONNECT, after which Node.js no longer serves the connection. */
  onConnect(): void {
    if (!this.#isResponseDue()) {
      this.#close(errorText(connectRejected.body))
      return
    }

    // Node.js has removed its listeners, on which the response depends.
    this.#socket.on('drain', () => this.#response?.emit('drain'))
    this.#socket.on('timeout', () => this.#socket.destroy())
    this.#closeAfterResponse()
  }

  /** At shutdown: closes the connection as soon as no response is due. */
  shutDown(): void {
    if (this.#state === 'idle') this.#socket.destroy()
    else if (this.#state === 'busy') this.#announceClose()
  }

  /** Closes the connection immediately. */
  destroy(): void {
    this.#socket.destroy()
  }

  #isResponseDue(): boolean {
    return this.#state === 'busy' || this.#state === 'last'
  }

  #drop(): void {
    this.#droppedRequests++
    if (this.#droppedRequests > maxDroppedRequests) this.#socket.destroy()
    else if (this.#isResponseDue()) this.#closeAfterResponse()
  }

  #onResponseClosed(): void {
    if (this.#state === 'last') this.#close()
    else if (this.#state === 'busy') this.#state = 'idle'
  }

  /** Makes the response that is due the last one of the connection. */
  #announceClose(): void {
    this.#state = 'last'
    // Sends `Connection: close`, unless the headers are sent already.
    if (this.#response) this.#response.shouldKeepAlive = false
  }

  #closeAfterResponse(): void {
    this.#announceClose()
    this.#discardInput()
  }

  /**
   * Ends the connection, after `text` if there is one. Closing a socket with
   * unread bytes would reset the connection, and the client may lose the
   * response: keep reading until the client closes too, or for a second.
   */
  #close(text = ''): void {
    this.#state = 'closing'
    this.#socket.end(text)
    this.#discardInput()
    const timer = setTimeout(() => this.#socket.destroy(), lingerMs)
    this.#socket.once('close', () => clearTimeout(timer))
  }

  /** Reads without parsing. Only now does Node.js pass bytes to listeners. */
  #discardInput(): void {
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', () => {})
    this.#socket.resume()
  }
}

/** A socket has errors, too: a client that resets its connection. */
const isOfParser = (code: string): boolean =>
  code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'

/** The bytes of an error for a socket that has no Fastify reply. */
function errorText(body: HttpError['body']): string {
  const json = JSON.stringify(body)
  const headers = {
    ...defaultHeaders(randomUUID()),
    date: new Date().toUTCString(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
    connection: 'close'
  }
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${value}`
  )
  const statusLine = `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}`

  return [statusLine, ...lines, '', json].join('\r\n')
}
