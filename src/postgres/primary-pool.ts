import pg from 'pg'

/** A URL list is split before each URL, since a password may have commas. */
const separator = /, *(?=postgres(?:ql)?:)/

/** The servers of which one is the primary, and the one to try first. */
class Servers {
  #current = 0
  readonly #all: pg.ClientConfig[]

  /**
   * @throws Error when a URL, or a certificate file that it names, cannot be
   *   used: now rather than at each statement
   */
  constructor(servers: pg.ClientConfig[]) {
    this.#all = servers
    for (const server of servers) new pg.Client(server)
  }

  get count(): number {
    return this.#all.length
  }

  get current(): pg.ClientConfig | undefined {
    return this.#all[this.#current]
  }

  /** Makes the next server the current one, unless that has happened. */
  skip(server: pg.ClientConfig | undefined): void {
    const next = (this.#current + 1) % this.count
    if (server === this.current) this.#current = next
  }
}

/** A connection to one server. Its loss only fails the statement on it. */
class PrimaryClient extends pg.Client {
  constructor(server: pg.ClientConfig | undefined) {
    super(server)
    this.on('error', () => {})
    this.on('notice', (notice) => this.#failUnreplicated(notice))
  }

  /**
   * Fails a commit that may not have reached the synchronous standby.
   * PostgreSQL reports a success, after a warning. The text of the warning is
   * translated and its SQLSTATE is not specific; only its origin is.
   */
  #failUnreplicated({ routine }: { routine: string | undefined }): void {
    if (routine !== 'SyncRepWaitForLSN') return
    const error = new Error('the wait for the standby ended')
    this.connection.emit('error', error)
  }
}

/**
 * A pool of connections to the one of several servers that accepts writes: the
 * primary, never a standby. If a connection fails, the next server is tried.
 */
export class PrimaryPool extends pg.Pool {
  readonly #servers: Servers
  /** Milliseconds in which an attempt to connect may start. */
  readonly #timeToStart: number

  /**
   * @param url the URLs of the servers, separated by commas
   * @param timeout milliseconds to connect, for all servers together, and to
   *   wait for a free connection
   * @throws Error when a URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(url: string, timeout: number, options: pg.PoolConfig = {}) {
    const urls = url.split(separator)
    const timeoutOfServer = timeout / urls.length
    const servers = new Servers(
      urls.map((connectionString) => ({
        ...options,
        connectionString,
        connectionTimeoutMillis: timeoutOfServer
      }))
    )

    const config = {
      ...options,
      connectionTimeoutMillis: timeout,
      Client: class extends PrimaryClient {
        constructor() {
          super(servers.current)
        }
      },
      // With `verify` instead, the pool would lose a connection whose request
      // stops waiting during the check.
      onConnect: (client: pg.ClientBase) =>
        rejectReadOnly(client, timeoutOfServer)
    }

    super(config)
    this.#servers = servers
    this.#timeToStart = timeout - timeoutOfServer
    this.on('error', () => {})
  }

  /** Connects to the primary, or takes an idle connection to it. */
  override async connect(): Promise<pg.PoolClient> {
    const lastStart = performance.now() + this.#timeToStart
    let attempts = 0
    let failure: unknown

    do {
      const server = this.#servers.current
      try {
        return await super.connect()
      } catch (error) {
        failure = error
      }
      this.#servers.skip(server)
      attempts += 1
    } while (attempts < this.#servers.count && performance.now() <= lastStart)

    throw failure
  }
}

/** @throws Error if the server is a standby, or read-only for other reasons */
async function rejectReadOnly(
  client: pg.ClientBase & { host?: string; port?: number },
  timeout: number
): Promise<void> {
  const query = {
    text: 'SHOW transaction_read_only',
    query_timeout: timeout
  }
  const { rows } = await client.query<{ transaction_read_only: string }>(query)
  if (rows[0]?.transaction_read_only !== 'on') return

  throw new Error(`the server at ${client.host}:${client.port} is read-only`)
}
