import pg, { type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { trackAvailability } from './availability.ts'
import { openPool } from './pool.ts'
import { sql } from './sql.ts'
import {
  cancelGraceMs,
  type DatabaseUse,
  type NamedStatement,
  type Query,
  runStatement
} from './statement-runner.ts'

// Ends statements of this role that still wait, for a lock or for a standby,
// after the service has closed their connections. If another replica has a
// longer DATABASE_TIMEOUT_MS, it may still need some of them.
const terminateAbandonedSql = sql`
  SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
  WHERE application_name = current_setting('application_name')
    AND datname = current_database()
    AND usename = current_user
    AND wait_event_type IN ('IPC', 'Lock')
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
 * PostgreSQL, as connections to the primary. Statements return their rows, in
 * which an int8 is a bigint.
 */
export class Database {
  /** Milliseconds until a statement of a request is cancelled. */
  readonly timeoutMs: number

  /** For whoever runs statements. */
  readonly metrics: Metrics

  /** The texts of the prepared statements by their names, in their order. */
  readonly statements = new Map<string, string>()

  /**
   * Each use has its own connections. So reads go on while writes wait for
   * locks or for a standby, groups of rows go on while single rows wait, and
   * checks go on while tables are locked.
   */
  readonly #uses: Record<
    'checks' | 'reads' | 'writes' | 'singleRows' | 'background',
    DatabaseUse
  >

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
    metrics: Metrics,
    applicationName = 'service'
  ) {
    this.metrics = metrics
    const {
      DATABASE_TIMEOUT_MS: timeoutMs,
      MAX_DATABASE_CONNECTIONS: maxConnections
    } = config
    const third = Math.floor(maxConnections / 3)
    this.timeoutMs = timeoutMs

    const terminateAbandoned = {
      ...this.prepare('terminate-abandoned', terminateAbandonedSql),
      values: [timeoutMs + cancelGraceMs / 2]
    }
    const use = (name: string, max: number, isRepeatable: boolean) => ({
      pool: openPool(url, {
        application_name: applicationName,
        connectionTimeoutMillis: timeoutMs,
        query_timeout: timeoutMs + cancelGraceMs,
        types,
        max
      }),
      timeoutMs,
      metrics,
      isRepeatable,
      availability: trackAvailability(name, log),
      onCancelIgnored: () => {
        // If this fails, the next abandoned statement repeats it.
        this.runInBackground(terminateAbandoned).catch(() => {})
      }
    })
    this.#uses = {
      checks: use('checks', 2, true),
      reads: use('reads', maxConnections - 2 * third, true),
      writes: use('writes', third, false),
      singleRows: use('single_rows', third, false),
      background: use('background', 1, true)
    }
    this.#addGauges()
  }

  /**
   * Gives a name to a statement, by which each connection prepares it once: the
   * operationId, with a suffix for a further statement of an operation.
   * PostgreSQL would reject a second text with the name, but only at the first
   * request that runs it.
   *
   * @example
   * const pets = database.prepare('listPets', 'SELECT * FROM pets LIMIT $1')
   * await database.read({ ...pets, values: [20] })
   *
   * @throws Error if another statement has the name
   */
  prepare(name: string, text: string): NamedStatement {
    if (this.statements.has(name))
      throw new Error(`two statements are called ${name}`)
    this.metrics.initializeStatement(name)
    this.statements.set(name, text)

    return { name, text }
  }

  /**
   * Runs one statement that changes nothing. Rejects with Unavailable if the
   * database cannot run it now.
   */
  read<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return runStatement(this.#uses.reads, query)
  }

  /**
   * Like `read`, for what other requests depend on: API keys and readiness.
   */
  readForChecks<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return runStatement(this.#uses.checks, query)
  }

  /**
   * Runs and commits one statement, which has `writeSettings`. Rejects with
   * Unavailable if it had no effect, OutcomeUnknown if that is not known.
   */
  write<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return runStatement(this.#uses.writes, query)
  }

  /** Like `write`, for a statement of one row, which may wait for its lock. */
  writeSingleRow<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return runStatement(this.#uses.singleRows, query)
  }

  /**
   * Runs one statement that no request waits for, on a separate connection. It
   * must be safe to send the statement again: this rejects with Unavailable
   * even if the outcome of a write is not known.
   */
  runInBackground<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return runStatement(this.#uses.background, query)
  }

  /** Waits for the statements in flight and closes every connection. */
  async close(): Promise<void> {
    await Promise.all(Object.values(this.#uses).map(({ pool }) => pool.end()))
  }

  #addGauges(): void {
    const addGauge = (
      name: string,
      help: string,
      valueOf: (use: DatabaseUse) => number
    ) =>
      this.metrics.gauge(name, help, ['use'], (gauge) => {
        for (const use of Object.values(this.#uses))
          gauge.set({ use: use.availability.use }, valueOf(use))
      })

    addGauge(
      'database_up',
      '0 while the database is unavailable for this use',
      ({ availability }) => Number(availability.isAvailable)
    )
    addGauge(
      'database_connections',
      'Open connections',
      ({ pool }) => pool.totalCount
    )
    addGauge(
      'database_connections_active',
      'Connections in use',
      ({ pool }) => pool.totalCount - pool.idleCount
    )
    addGauge(
      'database_connections_max',
      'Maximum connections',
      ({ pool }) => pool.options.max
    )
    addGauge(
      'database_statements_waiting',
      'Waiting statements',
      ({ pool }) => pool.waitingCount
    )
  }
}
