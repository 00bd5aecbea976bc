import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

type Bytes = Buffer | undefined

/** The code in a CancelRequest. */
export const cancelRequest = Buffer.from([0x04, 0xd2, 0x16, 0x2e])

/** The faults that a test controls. */
interface Faults {
  /** The port of the server that new connections reach. */
  serverPort: number
  /**
   * Whether to reset a connection, asked before and after the proxy passes
   * bytes of a client on, and before a response.
   */
  resets: (chunk: Buffer) => boolean
  /**
   * Changes or delays the bytes of the server; they are lost without a result.
   */
  change: (chunk: Buffer) => Bytes | Promise<Bytes>
}

const noFaults = (serverPort: number): Faults => ({
  serverPort,
  resets: () => false,
  change: (chunk) => chunk
})

/**
 * Starts a TCP proxy in front of PostgreSQL or the service, with faults that
 * the test controls. It stops when the test ends.
 */
export async function startProxy(t: Pick<Test, 'teardown'>, serverUrl: string) {
  const target = new URL(serverUrl)
  const state = noFaults(Number(target.port || 5432))
  /** The bytes of the clients. */
  const sentChunks: Buffer[] = []
  /** Of clients and to the server. */
  const sockets = new Set<Socket>()
  let connections = 0

  const server = createServer((client) => {
    connections++
    const upstream = connectTo(target, state.serverPort)
    endTogether(sockets, client, upstream)
    client.on('data', (chunk) => sentChunks.push(chunk))
    passOn(client, upstream, state, cut)
  })

  /** Closes all connections. Returns what the server then sends: nothing. */
  function cut(): undefined {
    for (const socket of sockets) socket.destroy()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  /** Refuses new connections from now on. */
  const refuse = () => {
    server.close()
  }
  t.teardown(() => {
    cut()
    refuse()
  })

  return {
    state,
    sentChunks,
    port,
    /** The URL of the server through the proxy. */
    url: urlThrough(target, port),
    /** Number of connections from clients. */
    connections: () => connections,
    cut,
    /** Closes all connections when the server sends this text. */
    cutAt: (text: string) => {
      state.change = (chunk) => (chunk.includes(text) ? cut() : chunk)
    },
    refuse
  }
}

function connectTo(target: URL, port: number): Socket {
  const socketFolder = target.searchParams.get('host')
  return socketFolder === null
    ? connect(port, target.hostname)
    : connect(`${socketFolder}/.s.PGSQL.${port}`)
}

function urlThrough(target: URL, port: number): string {
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  url.searchParams.delete('host')
  return url.href
}

/** Passes on what both send, with the faults that `state` has then. */
function passOn(
  client: Socket,
  upstream: Socket,
  state: Faults,
  cut: () => void
): void {
  const isReset = (chunk: Buffer): boolean => {
    const resets = state.resets(chunk)
    if (resets) client.resetAndDestroy()
    return resets
  }
  const respond = async (chunk: Buffer) => {
    const bytes = await state.change(chunk)
    if (bytes !== undefined) client.write(bytes)
  }

  client.on('data', (chunk: Buffer) => {
    if (!isReset(chunk)) upstream.write(chunk, () => isReset(chunk))
  })
  upstream.on('data', (chunk: Buffer) => {
    if (!isReset(chunk)) respond(chunk).catch(cut)
  })
}

/** Adds both sockets to the set. When one closes, the other one does. */
function endTogether(sockets: Set<Socket>, ...pair: [Socket, Socket]): void {
  for (const socket of pair) {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      for (const other of pair) other.destroy()
    })
  }
}

/** An ErrorResponse of fields such as `C08P01`. */
export function errorResponse(fields: string[]): Buffer {
  const body = Buffer.from(fields.map((field) => `${field}\0`).join('') + '\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
