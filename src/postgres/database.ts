import pg, { type PoolClient, type QueryConfig, type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import { serviceName } from '../../generated/names.ts'
import type { Config } from '../config.ts'
import {
  databaseErrors,
  type DatabaseUse,
  observeDatabase,
  observePoolWait,
  observeStatement
} from '../metrics.ts'
import { currentSpan, tracedStatement } from '../spans.ts'
import { Availability } from './availability.ts'
import { Deadline } from './deadline.ts'
import {
  failureOf,
  isCancelled,
  meaningOf,
  OutcomeUnknown,
  TimeLimitExceeded,
  Unavailable
} from './outcomes.ts'
import { PrimaryPool } from './primary-pool.ts'
import { sql } from './sql.ts'
import { Statements } from './statements.ts'
import { runQuery, runQueryWithin } from './time-limit.ts'
import { WriteTurns } from './write-turns.ts'

/** Milliseconds for a statement in the background. */
const maxBackgroundTimeoutMs = 1000

/** Of `tryWrite`: a part of the timeout, and the least milliseconds. */
const limitRatio = 1 / 20
const minLimitMs = 100

// Terminates commits that still wait for a standby after they were cancelled,
// those of all replicas: PostgreSQL would keep their connections open although
// the service has closed them.
const endHangingCommits = sql`
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

/**
 * A prepared statement, as the limit of `tryWrite` requires. After another
 * statement, which pg sends in another way, the limit may remain.
 */
export type NamedQuery = QueryConfig & { name: string }

/** What statements have in common that share the way in which they run. */
interface StatementKind {
  use: DatabaseUse
  isWrite: boolean
  pool: PrimaryPool
  /** Milliseconds until a statement is cancelled. */
  timeoutMs: number
  /** Milliseconds until PostgreSQL itself cancels a statement. */
  limitMs?: number
  availability: Availability
}

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

  /** The statements that have names. */
  readonly statements = new Statements()

  /** The turns of writes that may be slow. */
  readonly turns: WriteTurns

  #reportsOutages = true
  readonly #reads: StatementKind
  readonly #writes: StatementKind
  readonly #limitedWrites: StatementKind
  readonly #backgroundReads: StatementKind
  readonly #backgroundWrites: StatementKind

  /**
   * Connections are made on first use.
   *
   * @throws Error when the URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(url: string, config: DatabaseConfig, log: Logger) {
    const timeoutMs = config.DATABASE_TIMEOUT_MS
    const options = { application_name: serviceName, keepAlive: true, types }
    const pool = new PrimaryPool(url, timeoutMs, {
      ...options,
      max: config.MAX_DATABASE_CONNECTIONS
    })

    this.timeoutMs = timeoutMs
    this.turns = new WriteTurns(timeoutMs)
    this.#reads = {
      use: 'reads',
      isWrite: false,
      pool,
      timeoutMs,
      availability: new Availability('reads', log)
    }
    this.#writes = {
      use: 'writes',
      isWrite: true,
      pool,
      timeoutMs,
      availability: new Availability('writes', log)
    }
    this.#limitedWrites = {
      ...this.#writes,
      limitMs: Math.max(minLimitMs, Math.round(timeoutMs * limitRatio))
    }
    this.#backgroundWrites = {
      use: 'background',
      isWrite: true,
      pool: new PrimaryPool(url, timeoutMs, { ...options, max: 1 }),
      timeoutMs: Math.min(timeoutMs, maxBackgroundTimeoutMs),
      availability: new Availability('background writes', log)
    }
    this.#backgroundReads = { ...this.#backgroundWrites, isWrite: false }

    observeDatabase({
      pool: pool.counts,
      maxConnections: config.MAX_DATABASE_CONNECTIONS,
      uses: {
        reads: this.#reads.availability,
        writes: this.#writes.availability,
        background: this.#backgroundWrites.availability
      }
    })
  }

  /**
   * Runs one statement that changes nothing. Rejects with Unavailable if the
   * database cannot run it now.
   */
  read<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]> {
    return this.#run<Row>(query, this.#reads)
  }

  /**
   * Runs and commits one statement. Rejects with Unavailable if it had no
   * effect, OutcomeUnknown if that is not known.
   */
  write<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]> {
    return this.#run<Row>(query, this.#writes)
  }

  /**
   * Like `write`, for a short time: a twentieth of DATABASE_TIMEOUT_MS. Rejects
   * with TimeLimitExceeded if the statement took longer. It had no effect then,
   * because the limit does not apply to its commit.
   */
  tryWrite<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[]> {
    return this.#run<Row>(query, this.#limitedWrites)
  }

  /**
   * Like `write`, for what no request waits for: on a separate connection, for
   * at most a second.
   */
  writeInBackground(query: QueryConfig): Promise<QueryResultRow[]> {
    return this.#run(query, this.#backgroundWrites)
  }

  /** Like `read`, in the way of `writeInBackground`. */
  readInBackground<Row extends QueryResultRow>(
    query: QueryConfig
  ): Promise<Row[]> {
    return this.#run<Row>(query, this.#backgroundReads)
  }

  /**
   * Keeps outages out of the log until the database is ready. The caller
   * reports itself why it is not.
   */
  async reportOutagesAfter(ready: Promise<unknown>): Promise<void> {
    this.#reportsOutages = false
    await ready
    this.#reportsOutages = true
  }

  /** Waits for the statements in flight and closes every connection. */
  async close(): Promise<void> {
    await Promise.all([
      this.#reads.pool.end(),
      this.#backgroundWrites.pool.end()
    ])
  }

  #run<Row extends QueryResultRow>(
    query: QueryConfig,
    kind: StatementKind
  ): Promise<Row[]> {
    const run = () => this.#connectAndRun<Row>(query, kind)
    return tracedStatement(query.name, run)
  }

  async #connectAndRun<Row extends QueryResultRow>(
    query: QueryConfig,
    kind: StatementKind
  ): Promise<Row[]> {
    const span = currentSpan()
    const connection = await this.#connect(kind)
    span?.addEvent('connected')
    const sentAt = performance.now()

    // A callback: with a promise and pg's query_timeout the rows outlive two
    // garbage collections, which costs a tenth of a small read.
    return new Promise<Row[]>((resolve, reject) => {
      const deadline = new Deadline(connection, kind.timeoutMs, () =>
        this.#endHangingCommits()
      )

      const settle = (error: Error | null, rows: Row[]) => {
        deadline.clear()
        const cause = error ?? doubtAbout(deadline, kind)
        releaseOrDiscard(connection, cause, deadline)
        observeStatement(query.name, outcomeOf(cause, deadline), sentAt)

        if (cause !== null) return reject(this.#failure(cause, deadline, kind))

        kind.availability.succeeded()
        resolve(rows)
      }

      if (kind.limitMs === undefined) runQuery(connection, query, settle)
      else runQueryWithin(connection, kind.limitMs, query, settle)
    })
  }

  #failure(cause: Error, deadline: Deadline, kind: StatementKind): Error {
    const isLimited = kind.limitMs !== undefined && !deadline.isExceeded
    if (isLimited && isCancelled(cause)) return new TimeLimitExceeded(cause)

    return this.#report(failureOf(cause, kind.isWrite), kind)
  }

  async #connect(kind: StatementKind): Promise<PoolClient> {
    const since = performance.now()

    try {
      const connection = await kind.pool.connect()
      observePoolWait(kind.use, since)
      return connection
    } catch (error) {
      observePoolWait(kind.use, since)
      throw this.#report(new Unavailable(error), kind)
    }
  }

  #endHangingCommits(): void {
    const query = { text: endHangingCommits, values: [this.timeoutMs] }
    // If this fails, the next abandoned statement repeats it.
    this.read(query).catch(() => {})
  }

  /** Counts a failure, logs it if it begins an outage, and returns it. */
  #report(failure: Error, kind: StatementKind): Error {
    const isOutage =
      failure instanceof Unavailable || failure instanceof OutcomeUnknown
    databaseErrors.inc({ code: isOutage ? failure.code : 'internal_error' })

    const isConflict = meaningOf(failure.cause) === 'conflict'
    if (isOutage && !isConflict && !kind.pool.isEnding)
      this.#noteOutage(failure.cause, kind)
    return failure
  }

  #noteOutage(cause: unknown, { availability }: StatementKind): void {
    if (!this.#reportsOutages) return availability.failedUnreported()

    const hint =
      meaningOf(cause) === 'schema'
        ? ': migrations or grants may be missing'
        : ''
    availability.failed(cause, hint)
  }
}

function outcomeOf(cause: Error | null, deadline: Deadline) {
  if (deadline.isExceeded) return 'timeout'
  return cause === null ? 'ok' : 'failed'
}

/**
 * A cancelled wait for a standby ends in a warning and a success. A server
 * whose client_min_messages hides warnings sends only the success.
 */
function doubtAbout(deadline: Deadline, kind: StatementKind): Error | null {
  const isInDoubt = deadline.isExceeded && kind.isWrite
  return isInDoubt ? new Error('the statement was cancelled') : null
}

/**
 * Discards the connection if it cannot be used again, or if a late
 * CancelRequest could cancel the next statement.
 */
function releaseOrDiscard(
  connection: PoolClient,
  cause: Error | null,
  deadline: Deadline
): void {
  connection.release(deadline.isExceeded || !isReusable(cause))
}

/**
 * Whether the connection can run the next statement.
 *
 * A statement that failed before PostgreSQL had prepared it is prepared again
 * by pg. PgBouncer keeps its name, and closes the connection then, which looks
 * as if the next statement had an unknown outcome.
 */
function isReusable(cause: Error | null): boolean {
  if (cause === null) return true
  if (isCancelled(cause)) return false

  switch (meaningOf(cause)) {
    case 'value':
    case 'conflict':
    case 'resource':
      return true
    case 'schema':
    case 'statement':
    case 'connection':
    case undefined:
      return false
  }
}
