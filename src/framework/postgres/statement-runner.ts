import type { PoolClient, QueryResultRow } from 'pg'
import {
  databaseErrors,
  type DatabaseUse,
  observePoolWait,
  observeStatement
} from '../metrics.ts'
import { currentSpan, tracedStatement } from '../tracing/spans.ts'
import type { Availability } from './availability.ts'
import { Deadline } from './deadline.ts'
import {
  failureOf,
  GroupTimedOut,
  isCancelled,
  meaningOf,
  OutcomeUnknown,
  Unavailable,
  violatedConstraint
} from './failures.ts'
import { runQuery, runQueryWithinGroupTimeout } from './group-timeout.ts'
import type { PrimaryPool } from './primary-pool.ts'
import type { Query } from './statements.ts'

/** How statements of one kind run. */
export interface StatementKind {
  use: DatabaseUse
  /** Whether a statement can be sent again if its outcome is not known. */
  isRepeatable: boolean
  pool: PrimaryPool
  /** Milliseconds until the service cancels a statement, or its commit. */
  timeoutMs: number
  /** Milliseconds until PostgreSQL cancels a statement, but not its commit. */
  groupTimeoutMs?: number
  availability: Availability
  /** Called when the server did not end a statement after its cancellation. */
  onAbandoned: () => void
}

/**
 * Runs statements of one kind, each on a connection of the pool. Measures them,
 * counts their failures, and logs outages.
 */
export class StatementRunner {
  readonly #kind: StatementKind

  constructor(kind: StatementKind) {
    this.#kind = kind
  }

  /**
   * Runs one statement, and commits it.
   *
   * @returns its rows
   * @throws Unavailable, OutcomeUnknown, or the error that PostgreSQL sent
   */
  run<Row extends QueryResultRow>(query: Query): Promise<Row[]> {
    return tracedStatement(query.name, () => this.#connectAndRun<Row>(query))
  }

  async #connectAndRun<Row extends QueryResultRow>(
    query: Query
  ): Promise<Row[]> {
    const span = currentSpan()
    const connection = await this.#connect()
    span?.addEvent('connected')
    span?.setAttribute('db.namespace', String(connection.database))
    const { timeoutMs, groupTimeoutMs, availability, onAbandoned } = this.#kind
    const sentAt = performance.now()

    // A callback: with a promise and pg's query_timeout the rows outlive two
    // garbage collections, which costs a tenth of a small read.
    return new Promise<Row[]>((resolve, reject) => {
      const deadline = new Deadline(connection, timeoutMs, onAbandoned)

      const settle = (error: Error | null, rows: Row[]) => {
        deadline.clear()
        const cause = error ?? this.#doubtAbout(deadline)
        releaseOrDiscard(connection, cause, deadline)
        observeStatement(query.name, resultOf(cause, deadline), sentAt)

        if (cause !== null) return reject(this.#failure(cause, deadline))

        availability.succeeded()
        resolve(rows)
      }

      if (groupTimeoutMs === undefined) runQuery(connection, query, settle)
      else runQueryWithinGroupTimeout(connection, groupTimeoutMs, query, settle)
    })
  }

  async #connect(): Promise<PoolClient> {
    const { pool, use } = this.#kind
    const since = performance.now()

    try {
      const connection = await pool.connect()
      observePoolWait(use, since)
      return connection
    } catch (error) {
      observePoolWait(use, since)
      const failure = new Unavailable(error)
      this.#report(failure)
      throw failure
    }
  }

  /**
   * A cancelled wait for a standby ends in a warning and a success. A server
   * whose client_min_messages hides warnings sends only the success.
   */
  #doubtAbout(deadline: Deadline): Error | null {
    const isInDoubt = deadline.isExceeded && !this.#kind.isRepeatable
    return isInDoubt ? new Error('the statement was cancelled') : null
  }

  /** The error for the caller. Reports it, unless it is a GroupTimedOut. */
  #failure(cause: Error, deadline: Deadline): Error {
    const { groupTimeoutMs, isRepeatable } = this.#kind
    const mayTimeOut = groupTimeoutMs !== undefined && !deadline.isExceeded
    if (mayTimeOut && isCancelled(cause)) return new GroupTimedOut(cause)

    const failure = failureOf(cause, isRepeatable)
    this.#report(failure)

    return failure
  }

  /** Counts a failure, and logs it if it begins an outage. */
  #report(failure: Error): void {
    databaseErrors.inc({ code: metricCodeOf(failure) })
    if (isOutage(failure)) this.#reportOutage(failure.cause)
  }

  #reportOutage(cause: unknown): void {
    const { pool, availability } = this.#kind
    if (pool.isEnding) return

    const hint =
      meaningOf(cause) === 'schema'
        ? ': migrations or grants may be missing'
        : ''
    availability.failed(cause, hint)
  }
}

/** The code of a failure in `database_errors_total`. */
function metricCodeOf(failure: Error): string {
  if (failure instanceof Unavailable) return failure.code
  if (failure instanceof OutcomeUnknown) return failure.code

  // The error of PostgreSQL itself. Operations may respond with a 4xx to a
  // violated constraint, but to no other error.
  const isOfConstraint = violatedConstraint(failure) !== ''

  return isOfConstraint ? 'constraint_violated' : 'internal_error'
}

/** Whether the database was at fault, not the statement or another one. */
function isOutage(failure: Error): boolean {
  const isOfDatabase =
    failure instanceof Unavailable || failure instanceof OutcomeUnknown
  return isOfDatabase && meaningOf(failure.cause) !== 'conflict'
}

function resultOf(cause: Error | null, deadline: Deadline) {
  if (deadline.isExceeded) return 'timeout'
  return cause === null ? 'ok' : 'failed'
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
 * by pg. PgBouncer keeps its name, and then closes the connection. To the
 * service, the outcome of the next statement would be unknown.
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
    case 'doubtful':
      return false
  }
}
