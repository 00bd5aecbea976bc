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
  /** CancelRequests are lost, as between independent poolers. */
  dropsCancel: boolean
  /**
   * Whether to reset a connection, asked before and after the proxy passes
   * bytes of a client on, and before a response.
   */
  resets: () => boolean
  /**
   * Changes or delays the bytes of the server; they are lost without a result.
   */
  change: (chunk: Buffer) => Bytes | Promise<Bytes>
}

/** A connection of a client, and the one to the server that belongs to it. */
interface Pair {
  client: Socket
  upstream: Socket
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
  readonly #pairs = new Set<Pair>()
  readonly #server = createServer((client) => this.#accept(client))
  #connections = 0

  constructor(serverUrl: string) {
    this.#target = new URL(serverUrl)
    this.state = {
      serverPort: Number(this.#target.port || 5432),
      dropsCancel: false,
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
    url.hostname = '127.0.0.1'
    url.port = String(this.port)
    url.searchParams.delete('host')

    return url.href
  }

  /** Number of connections from clients. */
  connections = (): number => this.#connections

  /** Closes all connections. Returns what the server then sends: nothing. */
  cut = (): undefined => {
    for (const { client, upstream } of this.#pairs) {
      client.destroy()
      upstream.destroy()
    }

    return undefined
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
    const pair: Pair = { client, upstream: this.#connect() }
    this.#pairs.add(pair)
    client.on('data', (chunk: Buffer) => this.#fromClient(pair, chunk))
    pair.upstream.on('data', (chunk: Buffer) => this.#fromServer(pair, chunk))

    for (const socket of [client, pair.upstream]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        pair.upstream.destroy()
        this.#pairs.delete(pair)
      })
    }
  }

  #fromClient({ client, upstream }: Pair, chunk: Buffer): void {
    const { resets, dropsCancel } = this.state
    this.sentChunks.push(chunk)
    if (resets()) {
      client.resetAndDestroy()
      return
    }
    if (dropsCancel && chunk.includes(cancelRequest)) {
      client.destroy()
      return
    }
    upstream.write(chunk, () => {
      if (this.state.resets()) client.resetAndDestroy()
    })
  }

  #fromServer({ client }: Pair, chunk: Buffer): void {
    if (this.state.resets()) {
      client.resetAndDestroy()
      return
    }
    const pass = (bytes: Bytes) => {
      if (bytes !== undefined) client.write(bytes)
    }
    Promise.resolve(this.state.change(chunk)).then(pass, (error: Error) =>
      client.destroy(error)
    )
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
