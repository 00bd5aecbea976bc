import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

type Bytes = Buffer | undefined

/** The code in a CancelRequest. */
export const cancelRequest = Buffer.from([0x04, 0xd2, 0x16, 0x2e])

/** Starts a TCP proxy in front of PostgreSQL or the service, with faults that the test controls; stopped when it ends. */
export async function startProxy(t: Pick<Test, 'teardown'>, serverUrl: string) {
  const target = new URL(serverUrl)
  const socketFolder = target.searchParams.get('host')
  const state = {
    /** The port of the server that new connections reach. */
    serverPort: Number(target.port || 5432),
    /** CancelRequests are lost, as between independent poolers. */
    dropsCancel: false,
    /** Whether to reset a connection, asked before and after the proxy passes bytes of a client on, and before a response. */
    resets: () => false,
    /** Changes or delays the bytes of the server; they are lost without a result. */
    change: (chunk: Buffer): Bytes | Promise<Bytes> => chunk
  }
  const pairs = new Set<[Socket, Socket]>()
  const sent: Buffer[] = []
  let connections = 0
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
    return undefined
  }
  const server = createServer((client) => {
    connections++
    const { serverPort } = state
    const upstream =
      socketFolder === null
        ? connect(serverPort, target.hostname)
        : connect(`${socketFolder}/.s.PGSQL.${serverPort}`)
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    client.on('data', (chunk: Buffer) => {
      sent.push(chunk)
      if (state.resets()) client.resetAndDestroy()
      else if (state.dropsCancel && chunk.includes(cancelRequest))
        client.destroy()
      else
        upstream.write(chunk, () => state.resets() && client.resetAndDestroy())
    })
    upstream.on('data', (chunk: Buffer) => {
      if (state.resets()) client.resetAndDestroy()
      else
        void Promise.resolve(state.change(chunk)).then(
          (bytes) => bytes && client.write(bytes)
        )
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
  const { port } = server.address() as AddressInfo
  const url = Object.assign(new URL(serverUrl), { hostname: '127.0.0.1', port })
  url.searchParams.delete('host')
  return {
    /** The URL of the server through the proxy. */
    url: url.href,
    port,
    state,
    /** The bytes of the clients. */
    sent,
    /** Number of connections from clients. */
    connections: () => connections,
    /** Closes all connections. */
    cut,
    /** Closes all connections when the server sends this text, which is lost. */
    cutAt(text: string) {
      state.change = (chunk) => (chunk.includes(text) ? cut() : chunk)
    },
    /** Refuses new connections from now on. */
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
