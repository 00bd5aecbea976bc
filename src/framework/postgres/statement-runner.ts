import type { Pool, PoolClient, QueryResultRow } from 'pg'
import type { Metrics } from '../metrics.ts'
import type { Availability } from './availability.ts'
import {
  failureOf,
  isCancelled,
  meaningOf,
  OutcomeUnknown,
  sqlStateOf,
  Unavailable,
  violatedConstraint
} from './failures.ts'
import { isUnreplicated } from './pool.ts'
import { inStatementSpan } from './statement-span.ts'
import type { Query } from './statements.ts'
import { sendCancelRequest } from './undocumented.ts'

/**
 * Milliseconds in which the server must end a cancelled statement. Then the
 * pool's `query_timeout` closes the connection.
 */
export const cancelGraceMs = 1000

/** How statements of one kind run. */
export interface StatementKind {
  use: 'reads' | 'writes' | 'background'
  metrics: Metrics
  /** Whether a statement can be sent again if its outcome is not known. */
  isRepeatable: boolean
  pool: Pool
  /** Milliseconds until the service cancels a statement, or its commit. */
  timeoutMs: number
  availability: Availability
  /** Called when the server did not end a statement after its cancellation. */
  onAbandoned: () => void
}

/** A statement that has ended. */
interface Ended {
  connection: PoolClient
  /** Whether a CancelRequest was sent. It may arrive at any time from then. */
  isLate: boolean
  error: Error | null
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
    return inStatementSpan(query.name ?? 'unnamed', async (span) => {
      const connection = await this.#connect()
      span?.addEvent('connected')
      span?.setAttribute('db.namespace', String(connection.database))
      return this.#runOn<Row>(connection, query)
    })
  }

  #connect(): Promise<PoolClient> {
    const { pool, use, metrics } = this.#kind
    const measureWait = metrics.poolWait.startTimer({ use })

    return pool
      .connect()
      .catch((error: unknown) => {
        throw this.#reported(new Unavailable(error))
      })
      .finally(measureWait)
  }

  /**
   * Cancels the statement after its timeout. A statement_timeout would not end
   * a commit that waits for a standby, and poolers reject it as a startup
   * parameter.
   */
  #runOn<Row extends QueryResultRow>(
    connection: PoolClient,
    query: Query
  ): Promise<Row[]> {
    const { timeoutMs, availability, isRepeatable, metrics } = this.#kind
    const measure = metrics.statementDuration.startTimer({
      statement: query.name ?? 'unnamed'
    })

    // A callback: with a promise of pg the rows outlive two garbage
    // collections, which costs a tenth of a small read.
    return new Promise<Row[]>((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        sendCancelRequest(connection, cancelGraceMs)
      }, timeoutMs)

      connection.query<Row>(query, (error: Error | null, result) => {
        clearTimeout(timer)
        const cause = this.#causeOf({ connection, isLate, error })
        // A late CancelRequest could cancel the next statement.
        connection.release(isLate || !isReusable(cause))
        const outcome = cause === null ? 'ok' : 'failed'
        measure({ outcome: isLate ? 'timeout' : outcome })

        if (cause === null) {
          availability.succeeded()
          resolve(result.rows)
        } else {
          reject(this.#reported(failureOf(cause, isRepeatable)))
        }
      })
    })
  }

  /** Why a statement failed, or may have; null if it did not. */
  #causeOf({ connection, isLate, error }: Ended): Error | null {
    const { isRepeatable, onAbandoned } = this.#kind
    if (error !== null) {
      if (isLate && sqlStateOf(error) === '') onAbandoned()
      return error
    }

    if (isUnreplicated(connection))
      return new Error('the wait for the standby ended')

    // A server whose client_min_messages hides warnings sends only a success.
    return isLate && !isRepeatable
      ? new Error('the statement was cancelled')
      : null
  }

  /** Counts a failure, logs it if it begins an outage, and returns it. */
  #reported(failure: Error): Error {
    const { pool, availability, metrics } = this.#kind
    if (!isOfDatabase(failure)) {
      // Operations may respond with a 4xx to a violated constraint, but to no
      // other error of PostgreSQL.
      const isOfConstraint = violatedConstraint(failure) !== ''
      const code = isOfConstraint ? 'constraint_violated' : 'internal_error'
      metrics.databaseErrors.inc({ code })
      return failure
    }

    metrics.databaseErrors.inc({ code: failure.code })
    const meaning = meaningOf(failure.cause)
    const hint =
      meaning === 'schema' ? ': migrations or grants may be missing' : ''
    // A conflict is the fault of another statement.
    if (meaning !== 'conflict' && !pool.ending)
      availability.failed(failure.cause, hint)

    return failure
  }
}

const isOfDatabase = (failure: Error) =>
  failure instanceof Unavailable || failure instanceof OutcomeUnknown

/**
 * Whether the connection can run the next statement.
 *
 * A statement that failed before PostgreSQL had prepared it is prepared again
 * by pg. PgBouncer keeps its name, and then closes the connection. To the
 * service, the outcome of the next statement would be unknown.
 */
function isReusable(cause: Error | null): boolean {
  if (cause === null) return true
  const harmless = ['value', 'conflict', 'resource']
  return harmless.includes(meaningOf(cause)) && !isCancelled(cause)
}
