import type { Pool, PoolClient, QueryResultRow } from 'pg'
import { Overloaded } from '../batch.ts'
import { messageOf } from '../message-of.ts'
import type { Metrics } from '../metrics.ts'
import type { Availability } from './availability.ts'
import {
  failureOf,
  errorKindOf,
  OutcomeUnknown,
  postgresErrorIn,
  Unavailable
} from './failures.ts'
import { unreplicated } from './pool.ts'
import { inStatementSpan } from './statement-span.ts'
import { sendCancelRequest } from './undocumented.ts'

/**
 * Milliseconds in which the server must end a cancelled statement. Then pg
 * fails it (`query_timeout`), and its connection is closed.
 */
export const cancelGraceMs = 1000

/** A prepared statement, whose name belongs to no other text. */
export interface NamedStatement {
  name: string
  text: string
}

/** A statement: without a name, PostgreSQL plans it each time. */
export interface Query {
  name?: string
  text: string
  values?: unknown[]
}

/** What statements are for, and how they run. */
export interface DatabaseUse {
  metrics: Metrics
  /** Whether statements can be sent again if their outcome is not known. */
  isRepeatable: boolean
  pool: Pool
  /** Milliseconds until the service cancels a statement, or its commit. */
  timeoutMs: number
  availability: Availability
  /** Called when the server did not end a statement after its cancellation. */
  onCancelIgnored: () => void
}

/**
 * Runs one statement on a connection of the pool, and commits it. Measures it,
 * counts its failure, and logs an outage.
 *
 * @returns its rows
 * @throws Unavailable, OutcomeUnknown, Overloaded if no connection is free in
 *   time, or the error that PostgreSQL sent
 */
export function runStatement<Row extends QueryResultRow>(
  use: DatabaseUse,
  query: Query
): Promise<Row[]> {
  return inStatementSpan(query.name ?? 'unnamed', async (span) => {
    try {
      const connection = await connect(use)
      span?.addEvent('connected')
      const rows = await runOn<Row>(connection, use, query)
      use.availability.succeeded()
      return rows
    } catch (error) {
      report(error, use)
      throw error
    }
  })
}

function connect({ pool, availability, metrics }: DatabaseUse) {
  const stopTimer = metrics.poolWait.startTimer({ use: availability.use })
  return pool
    .connect()
    .catch((error: unknown) => {
      // The words of pg for a wait behind other statements.
      const isBusy = messageOf(error).includes('timeout exceeded when')
      throw isBusy ? new Overloaded() : new Unavailable(error)
    })
    .finally(stopTimer)
}

/**
 * Cancels the statement after its timeout. A statement_timeout would not end a
 * commit that waits for a standby, and poolers reject it as a startup
 * parameter.
 */
function runOn<Row extends QueryResultRow>(
  connection: PoolClient,
  { timeoutMs, isRepeatable, onCancelIgnored, metrics }: DatabaseUse,
  query: Query
): Promise<Row[]> {
  const stopTimer = metrics.statementDuration.startTimer({
    statement: query.name ?? 'unnamed'
  })

  // A callback frees the rows earlier than a promise of pg. With the promise,
  // the garbage collector copies them twice, and a small read takes a tenth
  // longer.
  return new Promise((resolve, reject) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      sendCancelRequest(connection, cancelGraceMs)
    }, timeoutMs)

    connection.query<Row>(query, (error: Error | null, result) => {
      clearTimeout(timer)
      const failure = error ?? replicationFailureOf(connection)

      // A late CancelRequest could cancel the next statement.
      connection.release(isLate || !isReusable(failure))
      // An error without a SQLSTATE is one of pg: the server still runs it.
      const isIgnored =
        error !== null && postgresErrorIn(error).code === undefined
      if (isLate && isIgnored) onCancelIgnored()
      const outcome = failure === null ? 'ok' : 'failed'
      stopTimer({ outcome: isLate ? 'timeout' : outcome })

      if (failure === null) resolve(result.rows)
      else reject(failureOf(failure, isRepeatable))
    })
  })
}

/**
 * Whether the connection can run the next statement.
 *
 * A statement that failed before PostgreSQL had prepared it is prepared again
 * by pg. PgBouncer keeps its name, and then closes the connection during the
 * next statement, whose outcome would be unknown.
 */
const isReusable = (failure: Error | null): boolean =>
  failure === null || ['permanent', 'conflict'].includes(errorKindOf(failure))

/** Why a commit that PostgreSQL reported may be lost in a failover. */
const replicationFailureOf = (connection: PoolClient): Error | null =>
  unreplicated.has(connection)
    ? new Error('the wait for the standby has ended')
    : null

/** Counts a failure, and logs it if it begins an outage. */
function report(
  failure: unknown,
  { availability, metrics }: DatabaseUse
): void {
  // It was not sent.
  if (failure instanceof Overloaded) return
  if (failure instanceof Unavailable || failure instanceof OutcomeUnknown) {
    metrics.databaseErrors.inc({ code: failure.code })
    const kind = errorKindOf(failure)
    const hint =
      kind === 'schema' ? ': migrations or grants may be missing' : ''
    // A conflict is the fault of other statements.
    if (kind !== 'conflict') availability.failed(failure.cause, hint)
    return
  }

  // Operations may respond with a 4xx to a violated constraint, but to no other
  // error of PostgreSQL.
  const code =
    postgresErrorIn(failure).constraint === undefined
      ? 'internal_error'
      : 'constraint_violated'
  metrics.databaseErrors.inc({ code })
}
