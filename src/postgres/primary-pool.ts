import pg from 'pg'
import { prepareTimeLimit } from './time-limit.ts'

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

// The two callbacks as which the types of pg describe one.
type OnFailure = (error: Error) => void
type OnSuccess = (error: null, client: pg.Client) => void

/** A connection to one server. Its loss only fails the statement on it. */
class PrimaryClient extends pg.Client {
  readonly #servers: Servers
  readonly #server: pg.ClientConfig | undefined

  constructor(servers: Servers) {
    const server = servers.current
    super(server)
    this.#servers = servers
    this.#server = server
    this.on('error', () => {})
    this.on('notice', (notice) => this.#failUnreplicated(notice))
  }

  /** The pool passes a callback, and ignores the promise. */
  override connect(): Promise<pg.Client>
  override connect(callback?: OnFailure | OnSuccess): void
  override connect(
    callback?: (error: Error | null, client: pg.Client) => void
  ): Promise<pg.Client> {
    return new Promise((resolve) => {
      super.connect((error: Error) => {
        // In spite of its type, it is null after a success.
        if (error instanceof Error) this.#skipServer()
        callback?.(error, this)
        resolve(this)
      })
    })
  }

  /**
   * Prepares a new connection for statements.
   *
   * @throws Error if the server is a standby, or read-only for other reasons
   */
  async prepare(timeoutMs: number): Promise<void> {
    try {
      await this.#rejectReadOnly(timeoutMs)
      await prepareTimeLimit(this, timeoutMs)
    } catch (error) {
      this.#skipServer()
      throw error
    }
  }

  async #rejectReadOnly(timeoutMs: number): Promise<void> {
    if (await this.#isReadOnly(timeoutMs))
      throw new Error(`the server at ${this.host}:${this.port} is read-only`)
  }

  async #isReadOnly(timeoutMs: number): Promise<boolean> {
    const query = {
      text: 'SHOW transaction_read_only',
      query_timeout: timeoutMs
    }
    const { rows } = await this.query<{ transaction_read_only: string }>(query)
    return rows[0]?.transaction_read_only === 'on'
  }

  /** The next connections are made to another server. */
  #skipServer(): void {
    this.#servers.skip(this.#server)
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
  readonly #startWithinMs: number

  /**
   * @param url the URLs of the servers, separated by commas
   * @param timeoutMs milliseconds to connect, for all servers together, and to
   *   wait for a free connection
   * @throws Error when a URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(url: string, timeoutMs: number, options: pg.PoolConfig = {}) {
    const urls = url.split(separator)
    const serverTimeoutMs = timeoutMs / urls.length
    const servers = new Servers(
      urls.map((connectionString) => ({
        ...options,
        connectionString,
        connectionTimeoutMillis: serverTimeoutMs
      }))
    )

    const config = {
      ...options,
      connectionTimeoutMillis: timeoutMs,
      Client: class extends PrimaryClient {
        constructor() {
          super(servers)
        }
      },
      // With `verify` instead, the pool would lose a connection whose request
      // stops waiting during the check.
      // Every client of the pool is of this class.
      onConnect: (client: pg.ClientBase) =>
        (client as PrimaryClient).prepare(serverTimeoutMs)
    }

    super(config)
    this.#servers = servers
    // Timers are not exact: the last attempt may start late, and the wait for a
    // free connection may end early.
    this.#startWithinMs = timeoutMs - serverTimeoutMs / 2
    this.on('error', () => {})
  }

  /** Connects to the primary, or takes an idle connection to it. */
  override async connect(): Promise<pg.PoolClient> {
    const lastStart = performance.now() + this.#startWithinMs

    for (let attempt = 1; attempt < this.#servers.count; attempt++) {
      try {
        return await super.connect()
      } catch (error) {
        if (performance.now() > lastStart) throw error
      }
    }
    return super.connect()
  }
}
