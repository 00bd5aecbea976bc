import pg, { type Pool, type PoolClient, type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import { batch, Overloaded } from '../batch.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../message-of.ts'
import type { Metrics } from '../metrics.ts'
import { onceAMinute } from '../once-a-minute.ts'
import {
  errorKindOf,
  failureOf,
  OutcomeUnknown,
  postgresErrorIn,
  Unavailable
} from './failures.ts'
import { openPool, unreplicated } from './pool.ts'
import { sql } from './sql.ts'
import { sendCancelRequest } from './undocumented.ts'

/**
 * Connections for statements that `batch` runs. Each of these runs once at a
 * time, so a locked table occupies at most one connection for each statement
 * that uses it.
 */
const maxSharedConnections = 9

/** Connections for statements of one row, which may wait for its lock. */
const maxSingleRowConnections = 3

/**
 * How many times one statement of a single row may run at the same time. It is
 * less than the number of connections, so while the rows of one table wait for
 * a lock, those of another still have a connection.
 */
const maxSingleRowRuns = 2

/**
 * Connections that stay open while there are no requests: one for the next
 * request, and one for what it starts in the background, such as recording that
 * its API key was used.
 */
const minSharedConnections = 2

/**
 * Milliseconds that the server has to end a cancelled statement. If it does
 * not, the statement fails, and its connection is closed.
 */
const cancelGraceMs = 1000

// After the service has closed the connection of a statement, the server may go
// on waiting for a lock or a standby. This ends such statements of this role.
// It cannot tell whose they are: it also ends those of a replica that has a
// longer DATABASE_TIMEOUT_MS, which then responds with `outcome_unknown`.
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

/** SQL. If it has no name, PostgreSQL plans it each time. */
export interface Query {
  name?: string
  text: string
}

/** A prepared statement, whose name belongs to no other text. */
export interface Statement extends Query {
  name: string
}

/**
 * What a statement is for:
 *
 * - `internal`: looks up API keys or migrations, or runs in the background, and
 *   can be sent again.
 * - `reads`: changes nothing, so it can be sent again.
 * - `writes`: commits, so its outcome may be unknown. It has `writeSettings`.
 * - `singleRows`: like `writes`, for one row, whose lock it may wait for.
 */
export type Purpose = 'internal' | 'reads' | 'writes' | 'singleRows'

/** How the statements of a purpose run. */
interface PurposeState {
  pool: Pool
  /** Whether they can be sent again if their outcome is not known. */
  isRepeatable: boolean
  /** Logs why the database is unavailable for them. */
  logOutage: (cause: unknown, hint: string) => void
}

/**
 * PostgreSQL, as connections to the primary. Statements return their rows, in
 * which an int8 is a bigint.
 */
export class Database {
  /** Milliseconds until a statement is cancelled. */
  readonly timeoutMs: number

  /** For the parts that run statements. */
  readonly metrics: Metrics

  /** The texts of the prepared statements by their names, in their order. */
  readonly statements = new Map<string, string>()

  readonly #pools: { shared: Pool; singleRows: Pool }
  readonly #purposes: Record<Purpose, PurposeState>
  readonly #terminateAbandoned: Statement

  /**
   * Connections are made on first use.
   *
   * @param applicationName names the connections in pg_stat_activity
   * @throws Error when the URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(
    url: string,
    { DATABASE_TIMEOUT_MS: timeoutMs }: Pick<Config, 'DATABASE_TIMEOUT_MS'>,
    log: Logger,
    metrics: Metrics,
    applicationName = 'service'
  ) {
    this.timeoutMs = timeoutMs
    this.metrics = metrics
    this.#terminateAbandoned = this.prepare(
      'terminate-abandoned',
      terminateAbandonedSql
    )

    const open = (max: number, min: number) =>
      openPool(url, {
        application_name: applicationName,
        connectionTimeoutMillis: timeoutMs,
        types,
        max,
        min
      })
    this.#pools = {
      shared: open(maxSharedConnections, minSharedConnections),
      singleRows: open(maxSingleRowConnections, 0)
    }

    const { shared, singleRows } = this.#pools
    const purpose = (
      name: Purpose,
      pool: Pool,
      isRepeatable: boolean
    ): PurposeState => ({
      pool,
      isRepeatable,
      logOutage: onceAMinute((cause: unknown, hint: string) =>
        log.error(
          { err: cause },
          `the database is unavailable for ${name}${hint}`
        )
      )
    })
    this.#purposes = {
      internal: purpose('internal', shared, true),
      reads: purpose('reads', shared, true),
      writes: purpose('writes', shared, false),
      singleRows: purpose('singleRows', singleRows, false)
    }
    for (const name in this.#purposes)
      metrics.databaseFailure.set({ purpose: name }, 0)
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
   * await database.run('reads', pets, [20])
   *
   * @throws Error if another statement has the name
   */
  prepare(name: string, text: string): Statement {
    if (this.statements.has(name))
      throw new Error(`two statements are called ${name}`)
    this.metrics.initializeStatement(name)
    this.statements.set(name, text)

    return { name, text }
  }

  /**
   * Prepares a statement that changes one row, and has `writeSettings`.
   *
   * @example
   * const remove = database.prepareSingleRow('removePet', removeSql)
   * const removed = await remove([id])
   *
   * @returns a function that runs it; rejects with the errors of `run`
   */
  prepareSingleRow<Row extends QueryResultRow>(name: string, text: string) {
    const statement = this.prepare(name, text)
    return this.batchOfSingleRows(async ([values]: unknown[][]) => [
      await this.run<Row>('singleRows', statement, values)
    ])
  }

  /**
   * Makes the batch of a statement of a single row: of one item, and with two
   * runs at the same time.
   */
  batchOfSingleRows<Item, Result>(run: (items: Item[]) => Promise<Result[]>) {
    return batch(run, {
      maxSize: 1,
      maxRuns: maxSingleRowRuns,
      maxWaitMs: this.timeoutMs
    })
  }

  /**
   * Runs one statement, and commits it. Measures it, counts its failure, and
   * logs an outage.
   *
   * @returns its rows
   * @throws Unavailable if the database cannot run it now, and it had no effect
   *   or can be sent again; OutcomeUnknown if a write may have had an effect;
   *   Overloaded if no connection is free in time; or the error that PostgreSQL
   *   sent, if it would occur again
   */
  async run<Row extends QueryResultRow>(
    purpose: Purpose,
    query: Query,
    values: unknown[] = []
  ): Promise<Row[]> {
    const { pool, isRepeatable } = this.#purposes[purpose]
    const { name = 'unnamed' } = query

    try {
      const connection = await pool.connect().catch(connectFailure)
      const endStatement = this.metrics.statementDuration.startTimer({
        statement: name
      })
      const { rows, failure, outcome, mayStillRun } = await execute<Row>(
        connection,
        query,
        values,
        this.timeoutMs
      )

      // A late CancelRequest could cancel the next statement.
      connection.release(outcome === 'timeout' || !isReusable(failure))
      if (mayStillRun) this.#endAbandoned()
      endStatement({ outcome })
      if (failure !== undefined) throw failureOf(failure, isRepeatable)

      return rows
    } catch (error) {
      this.#report(error, purpose)
      throw error
    }
  }

  /** Waits for the statements in flight and closes every connection. */
  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.end()))
  }

  /** If this fails, it runs again after the next abandoned statement. */
  #endAbandoned(): void {
    const values = [this.timeoutMs + cancelGraceMs / 2]
    this.run('internal', this.#terminateAbandoned, values).catch(() => {})
  }

  /** Counts a failure, and logs an outage once a minute. */
  #report(failure: unknown, purpose: Purpose): void {
    // It was not sent.
    if (failure instanceof Overloaded) return
    if (failure instanceof Unavailable || failure instanceof OutcomeUnknown) {
      this.metrics.databaseErrors.inc({ code: failure.code })
      const kind = errorKindOf(failure)
      const hint =
        kind === 'schema' ? ': migrations or grants may be missing' : ''
      // A conflict is the fault of other statements.
      if (kind === 'conflict') return
      this.metrics.databaseFailure.setToCurrentTime({ purpose })
      this.#purposes[purpose].logOutage(failure.cause, hint)
      return
    }

    // Operations may respond with a 4xx to a violated constraint, but to no
    // other error of PostgreSQL.
    const code =
      postgresErrorIn(failure).constraint === undefined
        ? 'internal_error'
        : 'constraint_violated'
    this.metrics.databaseErrors.inc({ code })
  }

  #addGauges(): void {
    const addGauge = (
      metric: string,
      help: string,
      valueOf: (pool: Pool) => number
    ) =>
      this.metrics.gauge(metric, help, ['pool'], (gauge) => {
        for (const [name, pool] of Object.entries(this.#pools))
          gauge.set({ pool: name }, valueOf(pool))
      })

    addGauge(
      'database_connections_active',
      'Connections in use',
      ({ totalCount, idleCount }) => totalCount - idleCount
    )
    addGauge(
      'database_statements_waiting',
      'Waiting statements',
      ({ waitingCount }) => waitingCount
    )
  }
}

/** @throws why there is no connection */
function connectFailure(error: unknown): never {
  const message = messageOf(error)
  // pg's message when no connection became free.
  const isBusy = message.includes('timeout exceeded when')
  throw isBusy ? new Overloaded() : new Unavailable(message, error)
}

interface Execution<Row> {
  rows: Row[]
  failure: Error | undefined
  /** `timeout`: it was cancelled. */
  outcome: 'ok' | 'failed' | 'timeout'
  /** On the server, which has not confirmed its end. */
  mayStillRun: boolean
}

/**
 * Sends a statement, and cancels it after its timeout. A statement_timeout
 * would not end a commit that waits for a standby, and poolers reject it as a
 * startup parameter.
 */
function execute<Row extends QueryResultRow>(
  connection: PoolClient,
  { name, text }: Query,
  values: unknown[],
  timeoutMs: number
): Promise<Execution<Row>> {
  return new Promise((resolve) => {
    let isLate = false
    let timer = setTimeout(() => {
      isLate = true
      sendCancelRequest(connection, cancelGraceMs)
      const silence = new Error('the server did not end the statement')
      timer = setTimeout(() => callback(silence), cancelGraceMs)
    }, timeoutMs)

    const callback = (error?: Error | null, result?: { rows: Row[] }) => {
      clearTimeout(timer)
      const failure = error ?? replicationFailureOf(connection)
      // An error without a SQLSTATE is not the server's.
      const mayStillRun =
        isLate && error != null && postgresErrorIn(error).code === undefined
      const outcome = failure === undefined ? 'ok' : 'failed'
      resolve({
        rows: result?.rows ?? [],
        failure,
        outcome: isLate ? 'timeout' : outcome,
        mayStillRun
      })
    }
    // The other ways to call pg are slower: it would copy an options object
    // property by property, and with a promise it keeps the rows for so long
    // that the garbage collector copies them twice. A small read takes a tenth
    // longer.
    connection.query(
      Object.assign(new pg.Query(text, values), { name, callback })
    )
  })
}

/**
 * Whether the connection can run the next statement.
 *
 * A statement that failed before PostgreSQL had prepared it is prepared again
 * by pg. PgBouncer keeps its name, and then closes the connection during the
 * next statement, whose outcome would be unknown.
 */
const isReusable = (failure: Error | undefined): boolean =>
  failure === undefined ||
  ['permanent', 'conflict'].includes(errorKindOf(failure))

/** Why a commit that PostgreSQL reported may be lost in a failover. */
const replicationFailureOf = (connection: PoolClient): Error | undefined =>
  unreplicated.has(connection)
    ? new Error('the wait for the standby has ended')
    : undefined
