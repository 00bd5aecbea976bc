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
  readonly #server = createServer((incoming, outgoing) =>
    this.#handle(incoming, outgoing)
  )

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

  #record({ method = '', url = '', headers }: IncomingMessage): Exchange {
    const exchange: Exchange = {
      method,
      path: url,
      idempotencyKey: String(headers['idempotency-key'] ?? ''),
      time: performance.now(),
      fault: this.#faults.shift() ?? 'none',
      status: 0,
      hasNextPage: false,
      body: ''
    }
    this.exchanges.push(exchange)

    return exchange
  }

  #handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const exchange = this.#record(incoming)
    switch (exchange.fault) {
      case 'before':
        incoming.socket.resetAndDestroy()
        break
      case 'busy':
        outgoing
          .writeHead(503, {
            'Content-Type': 'application/json',
            'Retry-After': 1
          })
          .end(JSON.stringify(busyError))
        break
      default:
        this.#forward(incoming, outgoing, exchange)
    }
  }

  #forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    exchange: Exchange
  ): void {
    const { socket } = incoming
    const forwarded = request(this.#service.origin + exchange.path, {
      method: exchange.method,
      headers: incoming.headers
    })
    forwarded.on('error', () => socket.destroy())
    forwarded.on('response', (response) => {
      respond(response, outgoing, exchange).catch(() => socket.destroy())
    })
    incoming.pipe(forwarded)
  }
}

/** Passes a response of the service on, with the fault of its exchange. */
async function respond(
  response: IncomingMessage,
  outgoing: ServerResponse,
  exchange: Exchange
): Promise<void> {
  const body = await buffer(response)
  exchange.status = response.statusCode ?? 0
  exchange.hasNextPage = String(response.headers.link).includes('rel="next"')
  exchange.body = body.toString()
  const reset = () => outgoing.socket?.resetAndDestroy()

  switch (exchange.fault) {
    case 'after':
      reset()
      break
    case 'midway':
      outgoing.writeHead(exchange.status, response.headers)
      outgoing.write(body.subarray(0, body.length / 2), reset)
      break
    default:
      outgoing.writeHead(exchange.status, response.headers)
      outgoing.end(body)
  }
}

/** Starts a proxy in front of the service at `baseUrl`. */
export async function startProxy(baseUrl: string): Promise<Proxy> {
  const proxy = new Proxy(baseUrl)
  await proxy.listen()
  return proxy
}
