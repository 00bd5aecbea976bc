import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { prepareGroupTimeout } from './group-timeout.ts'

/** A URL list is split before each URL, since a password may have commas. */
const separator = /, *(?=postgres(?:ql)?:)/

/**
 * Milliseconds without a packet after which a connection is probed. A wait for
 * another migration has no timeout: only this ends it when the server is gone.
 */
const keepAliveDelayMs = 10_000

/** The servers of which one is the primary, and the one to try first. */
class Servers {
  #current = 0
  readonly #all: pg.ClientConfig[]

  constructor(servers: pg.ClientConfig[]) {
    this.#all = servers
  }

  get count(): number {
    return this.#all.length
  }

  get current(): pg.ClientConfig | undefined {
    return this.#all[this.#current]
  }

  /** Makes the next server the current one, unless another call has done so. */
  skip(server: pg.ClientConfig | undefined): void {
    const next = (this.#current + 1) % this.count
    if (server === this.current) this.#current = next
  }
}

// pg's types describe one callback as two.
type OnFailure = (error: Error) => void
type OnSuccess = (error: null, connection: pg.Client) => void

/** A connection to one server. Its loss only fails the statement on it. */
class PrimaryConnection extends pg.Client {
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

  /**
   * Like `connect` of pg, and skips the server if it fails, before the pool's
   * next attempt.
   */
  override connect(): Promise<pg.Client>
  override connect(callback?: OnFailure | OnSuccess): void
  override connect(
    callback?: (error: Error | null, connection: pg.Client) => void
  ): Promise<pg.Client> {
    const connected = super.connect()

    connected.then(
      () => callback?.(null, this),
      (error: Error) => {
        this.#skipServer()
        callback?.(error, this)
      }
    )

    return connected
  }

  /**
   * Prepares a new connection for statements.
   *
   * @throws Error if the server is a standby, or read-only for other reasons
   */
  async prepare(timeoutMs: number): Promise<void> {
    try {
      await this.#rejectReadOnly(timeoutMs)
      await prepareGroupTimeout(this, timeoutMs)
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

/** Current whenever they are read. */
type PoolCounts = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount'>

/**
 * A pool of connections to the one of several servers that accepts writes: the
 * primary, never a standby. If a connection fails, the next server is tried.
 */
export class PrimaryPool {
  readonly #servers: Servers
  readonly #pool: pg.Pool
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
      urls.map((serverUrl) => ({
        ...options,
        keepAlive: true,
        keepAliveInitialDelayMillis: keepAliveDelayMs,
        // Reads the certificate files: pg would read them for each connection,
        // and throw in its own callbacks if they are missing.
        ...parseIntoClientConfig(serverUrl),
        connectionTimeoutMillis: serverTimeoutMs
      }))
    )

    const config = {
      ...options,
      connectionTimeoutMillis: timeoutMs,
      Client: class extends PrimaryConnection {
        constructor() {
          super(servers)
        }
      },
      // Not `verify`: the pool would lose a connection whose request stops
      // waiting during the check.
      onConnect: (connection: pg.ClientBase) =>
        // Every connection of the pool is of this class.
        (connection as PrimaryConnection).prepare(serverTimeoutMs)
    }

    this.#servers = servers
    // An attempt at the last server starts after `timeoutMs - serverTimeoutMs`.
    // A wait for a free connection ends after `timeoutMs`, and must not be
    // repeated. Halfway tells them apart, because timers are not exact.
    this.#startWithinMs = timeoutMs - serverTimeoutMs / 2
    this.#pool = new pg.Pool(config)
    // The pool has already discarded the idle connection that was lost.
    this.#pool.on('error', () => {})
  }

  /** The counts of the connections and of the calls that wait for one. */
  get counts(): PoolCounts {
    return this.#pool
  }

  /** Whether `end` was called. */
  get isEnding(): boolean {
    return this.#pool.ending
  }

  /**
   * Connects to the primary, or takes an idle connection to it. The caller must
   * release it.
   *
   * @throws Error when there is no connection after `timeoutMs`
   */
  async connect(): Promise<pg.PoolClient> {
    const lastStart = performance.now() + this.#startWithinMs

    for (let attempt = 1; attempt < this.#servers.count; attempt++) {
      try {
        return await this.#pool.connect()
      } catch (error) {
        if (performance.now() > lastStart) throw error
      }
    }

    return this.#pool.connect()
  }

  /** Waits until all connections are released, and closes them. */
  end(): Promise<void> {
    return this.#pool.end()
  }
}
