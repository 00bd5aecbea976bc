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

/**
 * A TCP proxy in front of PostgreSQL or the service, with faults that the test
 * controls.
 */
class Proxy {
  readonly state: Faults
  /** The bytes of the clients. */
  readonly sentChunks: Buffer[] = []
  readonly #target: URL
  /** Of clients and to the server. */
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#accept(client))
  #connections = 0

  constructor(serverUrl: string) {
    this.#target = new URL(serverUrl)
    this.state = {
      serverPort: Number(this.#target.port || 5432),
      resets: () => false,
      change: (chunk) => chunk
    }
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The URL of the server through the proxy. */
  get url(): string {
    const url = new URL(this.#target)
    url.host = `127.0.0.1:${this.port}`
    url.searchParams.delete('host')

    return url.href
  }

  /** Number of connections from clients. */
  connections = (): number => this.#connections

  /** Closes all connections. Returns what the server then sends: nothing. */
  cut = (): undefined => {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Closes all connections when the server sends this text, which is lost. */
  cutAt(text: string): void {
    this.state.change = (chunk) => (chunk.includes(text) ? this.cut() : chunk)
  }

  /** Refuses new connections from now on. */
  refuse = (): void => {
    this.#server.close()
  }

  #connect(): Socket {
    const { serverPort } = this.state
    const socketFolder = this.#target.searchParams.get('host')

    return socketFolder === null
      ? connect(serverPort, this.#target.hostname)
      : connect(`${socketFolder}/.s.PGSQL.${serverPort}`)
  }

  #accept(client: Socket): void {
    this.#connections++
    const upstream = this.#connect()
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        other.destroy()
        this.#sockets.delete(socket)
      })
    }

    const isReset = (chunk: Buffer): boolean => {
      const resets = this.state.resets(chunk)
      if (resets) client.resetAndDestroy()
      return resets
    }
    client.on('data', (chunk: Buffer) => {
      this.sentChunks.push(chunk)
      if (!isReset(chunk)) upstream.write(chunk, () => isReset(chunk))
    })
    upstream.on('data', (chunk: Buffer) => {
      if (!isReset(chunk)) this.#respond(client, chunk).catch(() => this.cut())
    })
  }

  async #respond(client: Socket, chunk: Buffer): Promise<void> {
    const bytes = await this.state.change(chunk)
    if (bytes !== undefined) client.write(bytes)
  }
}

/** Starts a proxy, which stops when the test ends. */
export async function startProxy(
  t: Pick<Test, 'teardown'>,
  serverUrl: string
): Promise<Proxy> {
  const proxy = new Proxy(serverUrl)
  await proxy.listen()
  t.teardown(() => {
    proxy.cut()
    proxy.refuse()
  })

  return proxy
}

/** An ErrorResponse of fields such as `C08P01`. */
export function errorResponse(fields: string[]): Buffer {
  const body = Buffer.from(fields.map((field) => `${field}\0`).join('') + '\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
