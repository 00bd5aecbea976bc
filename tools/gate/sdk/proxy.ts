import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that reached the proxy, and what the service responded, if the request was forwarded. */
export interface Exchange {
  method: string
  path: string
  idempotencyKey: string | undefined
  /** Milliseconds since the start of the process. */
  time: number
  status?: number
  body?: string
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>

/** Starts an HTTP proxy in front of the service at `baseUrl`, which records what passes. */
export async function startProxy(baseUrl: string) {
  const exchanges: Exchange[] = []
  const { origin, pathname } = new URL(baseUrl)
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const exchange: Exchange = { method, path: url, idempotencyKey: headers['idempotency-key']?.toString(), time: performance.now() }
    exchanges.push(exchange)
    const forwarded = request(origin + url, { method, headers }, async (response) => {
      const { statusCode: status = 0 } = response
      Object.assign(exchange, { status, body: await text(response) })
      outgoing.writeHead(status, response.headers).end(exchange.body)
    })
    forwarded.on('error', () => incoming.socket.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** The base URL of the service through the proxy. */
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    /** Returns the exchanges since the previous call. */
    take: () => exchanges.splice(0),
    stop: () => server.close()
  }
}
