import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'

/**
 * What happens to a request: its connection is reset before or after the
 * service responds, or in the middle of the body; or it gets this status, with
 * these seconds of Retry-After.
 */
export type Fault =
  'none' | 'before' | 'after' | 'midway' | { status: number; seconds?: number }

/** A request that reached the proxy, and the response, if there was one. */
export interface Exchange {
  /** As in `GET /v1/pets`. */
  request: string
  hasIdempotencyKey: boolean
  /** Milliseconds since the start of the process. */
  time: number
  /** 0 without a response of the service. */
  status: number
  /** Whether the response has a Link to the next page. */
  hasNextPage: boolean
  body: string
}

/** What passed a proxy, and the faults of its next requests. */
interface State {
  exchanges: Exchange[]
  faults: Fault[]
}

/**
 * Starts an HTTP proxy in front of the service, which is stopped when the test
 * ends. It records what passes, and injects faults.
 */
export async function startProxy(t: Test, serviceUrl: string) {
  const state: State = { exchanges: [], faults: [] }
  const server = createServer((incoming, outgoing) => {
    forward(serviceUrl, incoming, outgoing, state).catch(() =>
      incoming.socket.destroy()
    )
  })
  const port = await listenOnLoopback(t, server)

  return {
    url: `http://127.0.0.1:${port}`,
    /**
     * Forgets the exchanges, and returns those to come. The next requests have
     * these faults, and later ones none.
     */
    reset(faults: Fault[] = []): Exchange[] {
      state.exchanges = []
      state.faults = [...faults]
      return state.exchanges
    }
  }
}

async function forward(
  serviceUrl: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { exchanges, faults }: State
): Promise<void> {
  const { method = '', url: path = '', headers, socket } = incoming
  const fault = faults.shift() ?? 'none'
  const exchange: Exchange = {
    request: `${method} ${path}`,
    hasIdempotencyKey: 'idempotency-key' in headers,
    time: performance.now(),
    status: 0,
    hasNextPage: false,
    body: ''
  }
  exchanges.push(exchange)

  if (fault === 'before') {
    socket.resetAndDestroy()
    return
  }
  if (typeof fault === 'object') {
    const { status, seconds } = fault
    outgoing.writeHead(status, { ...(seconds && { 'Retry-After': seconds }) })
    outgoing.end()
    return
  }

  const forwarded = request(serviceUrl + path, { method, headers })
  incoming.pipe(forwarded)
  const [response] = (await once(forwarded, 'response')) as [IncomingMessage]
  const body = await buffer(response)
  exchange.status = Number(response.statusCode)
  exchange.hasNextPage = String(response.headers.link).includes('rel="next"')
  exchange.body = body.toString()

  const reset = () => socket.resetAndDestroy()
  if (fault === 'after') {
    reset()
    return
  }
  outgoing.writeHead(exchange.status, response.headers)
  if (fault === 'midway')
    outgoing.write(body.subarray(0, body.length / 2), reset)
  else outgoing.end(body)
}
