import pg, { type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { Metrics } from '../metrics.ts'
import { Availability } from './availability.ts'
import { openPool } from './pool.ts'
import { sql } from './sql.ts'
import {
  cancelGraceMs,
  type StatementKind,
  StatementRunner
} from './statement-runner.ts'
import { type Query, Statements } from './statements.ts'

/** Milliseconds for a statement in the background. */
const maxBackgroundTimeoutMs = 1000

// Ends the commits of all replicas that still wait for a standby after they
// were cancelled. PostgreSQL would keep their connections open, although the
// service has closed them.
const terminateHangingCommits = sql`
  SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
  WHERE application_name = current_setting('application_name')
    AND datname = current_database()
    AND usename = current_user
    AND wait_event = 'SyncRep'
    AND query_start < now() - $1 * interval '1 ms'
`

// A number would round an int8 beyond 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, BigInt)

type DatabaseConfig = Pick<
  Config,
  'MAX_DATABASE_CONNECTIONS' | 'DATABASE_TIMEOUT_MS'
>

/**
 * PostgreSQL, as a pool of connections to the primary. Statements return their
 * rows, in which an int8 is a bigint.
 */
export class Database {
  /** Milliseconds until a statement of a request is cancelled. */
  readonly timeoutMs: number

  /** The metrics of all that works with this database: of the service. */
  readonly metrics = new Metrics()

  /** The statements that have names. */
  readonly statements = new Statements(this.metrics)

  readonly #kinds: StatementKind[]
  readonly #reads: StatementRunner
  readonly #writes: StatementRunner
  readonly #background: StatementRunner

  /**
   * Connections are made on first use.
   *
   * @param applicationName names the connections in pg_stat_activity
   * @throws Error when the URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(
    url: string,
    config: DatabaseConfig,
    log: Logger,
    applicationName = 'service'
  ) {
    const timeoutMs = config.DATABASE_TIMEOUT_MS
    const maxConnections = config.MAX_DATABASE_CONNECTIONS
    const backgroundTimeoutMs = Math.min(timeoutMs, maxBackgroundTimeoutMs)
    const open = (max: number, statementTimeoutMs: number) =>
      openPool(url, {
        application_name: applicationName,
        connectionTimeoutMillis: timeoutMs,
        query_timeout: statementTimeoutMs + cancelGraceMs,
        max,
        types
      })

    const reads: StatementKind = {
      use: 'reads',
      metrics: this.metrics,
      isRepeatable: true,
      pool: open(maxConnections, timeoutMs),
      timeoutMs,
      availability: new Availability('reads', log),
      onAbandoned: () => this.#endHangingCommits()
    }
    const writes: StatementKind = {
      ...reads,
      use: 'writes',
      isRepeatable: false,
      availability: new Availability('writes', log)
    }
    const background: StatementKind = {
      ...reads,
      use: 'background',
      pool: open(1, backgroundTimeoutMs),
      timeoutMs: backgroundTimeoutMs,
      availability: new Availability('background work', log)
    }

    this.timeoutMs = timeoutMs
    this.#kinds = [reads, writes, background]
    this.#reads = new StatementRunner(reads)
    this.#writes = new StatementRunner(writes)
    this.#background = new StatementRunner(background)
    const { pool } = reads
    this.metrics.observeDatabase({ pool, maxConnections, kinds: this.#kinds })
  }

  /**
   * Runs one statement that changes nothing. Rejects with Unavailable if the
   * database cannot run it now.
   */
  read<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return this.#reads.run<Row>(query)
  }

  /**
   * Runs and commits one statement. Rejects with Unavailable if it had no
   * effect, OutcomeUnknown if that is not known.
   */
  write<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return this.#writes.run<Row>(query)
  }

  /**
   * Like `write`, for work that no request waits for: on a separate connection,
   * for at most a second. It must be safe to send the statement again, so it
   * rejects with Unavailable even if its outcome is not known.
   */
  writeInBackground(query: Query): Promise<QueryResultRow[]> {
    return this.#background.run(query)
  }

  /** Like `read`, but on the connection of `writeInBackground`. */
  readInBackground<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return this.#background.run<Row>(query)
  }

  /**
   * Keeps outages out of the log until the database is ready. The caller
   * reports why it is not, and handles a rejection.
   */
  reportOutagesAfter(ready: Promise<unknown>): void {
    for (const { availability } of this.#kinds) availability.reportAfter(ready)
  }

  /** Waits for the statements in flight and closes every connection. */
  async close(): Promise<void> {
    const pools = new Set(this.#kinds.map(({ pool }) => pool))
    await Promise.all([...pools].map((pool) => pool.end()))
  }

  #endHangingCommits(): void {
    const statement = this.statements.add(
      'terminate-hanging-commits',
      terminateHangingCommits
    )
    // If this fails, the next abandoned statement repeats it.
    this.#background
      .run({ ...statement, values: [this.timeoutMs] })
      .catch(() => {})
  }
}

/** Reads a state of the database, and sets its metrics. */
export type Measure = () => Promise<void>
