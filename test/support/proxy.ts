import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** Where a proxy can reset a connection: before it passes bytes of the client on, after that, or instead of bytes of the server. */
export type ResetPoint = 'before the request' | 'after the request' | 'before the response'

/** A TCP proxy in front of PostgreSQL or the service, with faults that a test controls. */
export interface Proxy {
  /** The URL of the server through the proxy. */
  url: string
  port: number
  state: {
    /** The port of the server that new connections reach. */
    serverPort: number
    /** New connections are closed at once. */
    isClosed: boolean
    /** CancelRequests are lost, as between independent poolers. */
    dropsCancel: boolean
    /** Bytes of the server are lost. */
    isSilent: boolean
    /** When the server sends this text, it is lost and all connections are closed. */
    cutOnAnswer: string
    /** Changes or delays the bytes of the server. */
    change: (chunk: Buffer) => Buffer | Promise<Buffer>
    /** Whether to reset a connection at this point. */
    resets: (point: ResetPoint) => boolean
  }
  /** The bytes of the clients. */
  sent: Buffer[]
  /** Number of connections from clients. */
  connections: () => number
  /** Closes all connections. */
  cut: () => void
  /** Refuses new connections from now on. */
  refuse: () => void
}

/** The code in a CancelRequest. */
export const cancelRequest = Buffer.from([0x04, 0xd2, 0x16, 0x2e])

/** Starts a proxy in front of the server of the URL; stopped when the test ends. */
export async function startProxy(t: Pick<Test, 'teardown'>, serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl)
  const socketFolder = target.searchParams.get('host')
  const pairs = new Set<[Socket, Socket]>()
  const state: Proxy['state'] = {
    serverPort: Number(target.port || 5432),
    isClosed: false,
    dropsCancel: false,
    isSilent: false,
    cutOnAnswer: '',
    change: (chunk) => chunk,
    resets: () => false
  }
  const sent: Buffer[] = []
  let connections = 0
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  const server = createServer((client) => {
    connections++
    if (state.isClosed) {
      client.destroy()
      return
    }
    const { serverPort } = state
    const upstream =
      socketFolder === null ? connect(serverPort, target.hostname) : connect(`${socketFolder}/.s.PGSQL.${serverPort}`)
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    client.on('data', (chunk: Buffer) => {
      sent.push(chunk)
      if (state.resets('before the request')) client.resetAndDestroy()
      else if (state.dropsCancel && chunk.includes(cancelRequest)) client.destroy()
      else upstream.write(chunk, () => state.resets('after the request') && client.resetAndDestroy())
    })
    upstream.on('data', (chunk: Buffer) => {
      if (state.resets('before the response')) client.resetAndDestroy()
      else if (state.cutOnAnswer !== '' && chunk.includes(state.cutOnAnswer)) cut()
      else if (!state.isSilent) void Promise.resolve(state.change(chunk)).then((bytes) => client.write(bytes))
    })
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        for (const one of pair) one.destroy()
        pairs.delete(pair)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    cut()
    server.close()
  })
  const url = new URL(serverUrl)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    port: Number(url.port),
    state,
    sent,
    connections: () => connections,
    cut,
    refuse: () => server.close()
  }
}

/** An ErrorResponse of fields such as `C08P01`. */
export function errorResponse(fields: string[]): Buffer {
  const body = Buffer.from(fields.map((field) => `${field}\0`).join('') + '\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
