import { connect, createServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Test } from 'tap'
import { listenOnLoopback } from './loopback.ts'

/** The code in a CancelRequest. */
export const cancelRequest = Buffer.from([0x04, 0xd2, 0x16, 0x2e])

/** What asks a server of PostgreSQL for TLS. */
export const sslRequest = Buffer.from([0x04, 0xd2, 0x16, 0x2f])

/** The faults that a test controls. */
interface Faults {
  /** The port of the server that new connections reach. */
  serverPort: number
  /** Whether these bytes of a client are lost: what waits for them freezes. */
  loses: (chunk: Buffer) => boolean
  /** Changes the bytes of the server; they are lost without a result. */
  change: (chunk: Buffer) => Buffer | undefined
}

/**
 * Starts a TCP proxy in front of PostgreSQL or the service, with faults that
 * the test controls. It stops when the test ends.
 */
export async function startProxy(t: Test, serverUrl: string) {
  const url = new URL(serverUrl)
  const { hostname } = url
  const socketFolder = url.searchParams.get('host')
  const state: Faults = {
    serverPort: Number(url.port || 5432),
    loses: () => false,
    change: (chunk) => chunk
  }
  /** The bytes of the clients. */
  const sentChunks: Buffer[] = []
  const clients = new Set<Socket>()

  const server = createServer((client) => {
    clients.add(client)
    const upstream =
      socketFolder === null
        ? connect(state.serverPort, hostname)
        : connect(`${socketFolder}/.s.PGSQL.${state.serverPort}`)
    // When one side closes, the other one does.
    pipeline(client, requests, upstream, responses, client)
      .catch(() => {})
      .finally(() => clients.delete(client))
  })

  async function* requests(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      sentChunks.push(chunk)
      if (!state.loses(chunk)) yield chunk
    }
  }

  async function* responses(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      const bytes = state.change(chunk)
      if (bytes !== undefined) yield bytes
    }
  }

  /** Closes all connections. Returns what the server then sends: nothing. */
  function cut(): undefined {
    for (const client of clients) client.destroy()
  }

  t.teardown(cut)
  const port = await listenOnLoopback(t, server)
  url.host = `127.0.0.1:${port}`
  url.searchParams.delete('host')

  return {
    state,
    sentChunks,
    port,
    /** The URL of the server through the proxy. */
    url: url.href,
    cut,
    /** Closes all connections when the server sends this text. */
    cutAt: (text: string) => {
      state.change = (chunk) => (chunk.includes(text) ? cut() : chunk)
    }
  }
}
