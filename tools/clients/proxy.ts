import {
  createServer,
  type IncomingMessage,
  type ServerResponse
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'

/**
 * What happens to a request: its connection is reset after the service has
 * responded, or in the middle of the body; or it gets this status, with these
 * seconds of Retry-After, and the service does not see it.
 */
export type Fault = 'after' | 'midway' | { status: number; seconds?: number }

/** A request that reached the proxy. */
export interface Exchange {
  /** Milliseconds since the start of the process. */
  time: number
  request: IncomingMessage
  /** That of the service. */
  response?: LightMyRequestResponse
}

/**
 * Starts an HTTP proxy in front of the service, which is stopped when the test
 * ends. It records what passes, and injects faults.
 */
export async function startProxy(t: Test, service: FastifyInstance) {
  let exchanges: Exchange[] = []
  let faults: Fault[] = []

  async function respond(
    request: IncomingMessage,
    outgoing: ServerResponse
  ): Promise<void> {
    const { url = '', headers, socket } = request
    const method = request.method as 'GET'
    const exchange: Exchange = { time: performance.now(), request }
    exchanges.push(exchange)
    const fault = faults.shift()
    if (typeof fault === 'object') {
      const { status, seconds } = fault
      outgoing.writeHead(status, { ...(seconds && { 'Retry-After': seconds }) })
      outgoing.end()
      return
    }

    const payload = await buffer(request)
    const response = await service.inject({ method, url, headers, payload })
    exchange.response = response
    const reset = () => socket.resetAndDestroy()
    if (fault === 'after') {
      reset()
      return
    }
    const { rawPayload: body } = response
    outgoing.writeHead(response.statusCode, response.headers)
    if (fault === 'midway')
      outgoing.write(body.subarray(0, body.length / 2), reset)
    else outgoing.end(body)
  }

  const server = createServer((request, outgoing) => {
    respond(request, outgoing).catch(() => request.socket.destroy())
  })
  const port = await listenOnLoopback(t, server)

  return {
    url: `http://127.0.0.1:${port}`,
    /**
     * Forgets the exchanges, and returns those to come. The next requests have
     * these faults, and later ones none.
     */
    reset(next: Fault[] = []): Exchange[] {
      exchanges = []
      faults = [...next]
      return exchanges
    }
  }
}
