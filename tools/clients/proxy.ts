import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * What happens to a request: its connection is reset before or after the
 * service responds, or in the middle of the body; or the service is busy.
 */
export type Fault = 'none' | 'before' | 'after' | 'midway' | 'busy'

/** A request that reached the proxy, and the response, if there was one. */
export interface Exchange {
  method: string
  path: string
  idempotencyKey: string
  /** Milliseconds since the start of the process. */
  time: number
  fault: Fault
  /** 0 without a response of the service. */
  status: number
  /** Whether the response has a Link to the next page. */
  hasNextPage: boolean
  body: string
}

const busyError = {
  code: 'unavailable',
  message: 'The service is unavailable',
  status: 503
}

/**
 * An HTTP proxy in front of the service. It records what passes, and injects
 * faults.
 */
export class Proxy {
  exchanges: Exchange[] = []
  #faults: Fault[] = []
  readonly #service: URL
  readonly #server = createServer((incoming, outgoing) => {
    this.#handle(incoming, outgoing).catch(() => incoming.socket.destroy())
  })

  /** @param baseUrl of the service */
  constructor(baseUrl: string) {
    this.#service = new URL(baseUrl)
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** The base URL of the service through the proxy. */
  get baseUrl(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}${this.#service.pathname}`
  }

  /**
   * Forgets the exchanges. The next requests have these faults, and later ones
   * none.
   */
  reset(faults: Fault[] = []): void {
    this.exchanges = []
    this.#faults = [...faults]
  }

  stop(): void {
    this.#server.close()
  }

  async #handle(
    incoming: IncomingMessage,
    outgoing: ServerResponse
  ): Promise<void> {
    const { method = '', url: path = '', headers, socket } = incoming
    const exchange: Exchange = {
      method,
      path,
      idempotencyKey: String(headers['idempotency-key'] ?? ''),
      time: performance.now(),
      fault: this.#faults.shift() ?? 'none',
      status: 0,
      hasNextPage: false,
      body: ''
    }
    this.exchanges.push(exchange)

    if (exchange.fault === 'before') {
      socket.resetAndDestroy()
    } else if (exchange.fault === 'busy') {
      const busyHeaders = {
        'Content-Type': 'application/json',
        'Retry-After': 1
      }
      outgoing.writeHead(503, busyHeaders).end(JSON.stringify(busyError))
    } else {
      const forwarded = request(this.#service.origin + path, {
        method,
        headers
      })
      incoming.pipe(forwarded)
      const [response] = (await once(forwarded, 'response')) as [
        IncomingMessage
      ]
      await respond(response, outgoing, exchange)
    }
  }
}

/** Passes a response of the service on, with the fault of its exchange. */
async function respond(
  response: IncomingMessage,
  outgoing: ServerResponse,
  exchange: Exchange
): Promise<void> {
  const { statusCode = 0, headers } = response
  const body = await buffer(response)
  exchange.status = statusCode
  exchange.hasNextPage = String(headers.link).includes('rel="next"')
  exchange.body = body.toString()

  const reset = () => outgoing.socket?.resetAndDestroy()
  if (exchange.fault === 'after') {
    reset()
    return
  }
  outgoing.writeHead(statusCode, headers)
  if (exchange.fault === 'midway')
    outgoing.write(body.subarray(0, body.length / 2), reset)
  else outgoing.end(body)
}
