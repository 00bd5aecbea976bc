import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What happens to a request: its connection is reset before or after the service responds, or in the middle of the body. */
export type Fault = 'none' | 'before' | 'after' | 'midway' | 'busy'

/** A request that reached the proxy, and the response, if there was one. */
export interface Exchange {
  method: string
  path: string
  idempotencyKey: string
  /** Milliseconds since the start of the process. */
  time: number
  fault: Fault
  status: number
  body: string
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>

const busy = {
  code: 'unavailable',
  message: 'The service is unavailable',
  status: 503
}

/** Starts an HTTP proxy in front of the service at `baseUrl`. It records what passes, and injects faults. */
export async function startProxy(baseUrl: string) {
  const { origin, pathname } = new URL(baseUrl)
  let exchanges: Exchange[] = []
  let faults: Fault[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', headers, socket } = incoming
    const [fault = 'none'] = faults.splice(0, 1)
    const idempotencyKey = String(headers['idempotency-key'] ?? '')
    const exchange: Exchange = {
      method,
      path,
      idempotencyKey,
      time: performance.now(),
      fault,
      status: 0,
      body: ''
    }
    exchanges.push(exchange)
    if (fault === 'before') return socket.resetAndDestroy()
    if (fault === 'busy') {
      return outgoing
        .writeHead(503, {
          'Content-Type': 'application/json',
          'Retry-After': 1
        })
        .end(JSON.stringify(busy))
    }
    const forwarded = request(
      origin + path,
      { method, headers },
      (response) => {
        void respond(response)
      }
    )
    forwarded.on('error', () => socket.destroy())
    incoming.pipe(forwarded)

    async function respond(response: IncomingMessage): Promise<void> {
      const body = await buffer(response)
      exchange.status = response.statusCode ?? 0
      exchange.body = body.toString()
      if (fault === 'after') return void socket.resetAndDestroy()
      outgoing.writeHead(exchange.status, response.headers)
      if (fault === 'none') outgoing.end(body)
      else
        outgoing.write(body.subarray(0, body.length / 2), () =>
          socket.resetAndDestroy()
        )
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** The base URL of the service through the proxy. */
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    /** Forgets the exchanges. The next requests have these faults, and later ones none. */
    reset: (next: Fault[] = []) => {
      exchanges = []
      faults = next
    },
    exchanges: () => exchanges,
    stop: () => server.close()
  }
}
