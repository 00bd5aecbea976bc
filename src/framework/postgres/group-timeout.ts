import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { sql } from './sql.ts'

/** The group timeout, as a part of DATABASE_TIMEOUT_MS. */
const usualRatio = 1 / 20

/** Milliseconds. Below, groups of ordinary rows would time out. */
const usualMinMs = 100

/**
 * The largest part of DATABASE_TIMEOUT_MS. If both ended together, the error
 * would be that of any slow statement, and the group would not be split.
 */
const maxRatio = 1 / 2

/** The group timeout in milliseconds, for a DATABASE_TIMEOUT_MS. */
export function groupTimeoutMsOf(timeoutMs: number): number {
  const usualMs = Math.max(usualMinMs, timeoutMs * usualRatio)
  return Math.round(Math.min(usualMs, timeoutMs * maxRatio))
}

/** Limits the next statements of the transaction. It returns no row. */
export const setGroupTimeout = {
  name: 'set-group-timeout',
  text: sql`
    SELECT
    WHERE set_config('statement_timeout', $1, true) IS NULL
  `
}

type Callback<Row extends QueryResultRow> = (
  error: Error | null,
  rows: Row[]
) => void

/** Prepares a new connection for `runQueryWithinGroupTimeout`. */
export async function prepareGroupTimeout(
  connection: Client,
  timeoutMs: number
): Promise<void> {
  const unlimited = '0'
  const query = {
    ...setGroupTimeout,
    values: [unlimited],
    query_timeout: timeoutMs
  }
  await connection.query(query)
}

/**
 * Runs one statement, which PostgreSQL cancels after `groupTimeoutMs`.
 *
 * No Sync separates the timeout from the statement: both are one transaction.
 * The timeout ends with the transaction, even behind a pooler. It never cancels
 * the commit or the next statement. A CancelRequest could cancel either.
 *
 * @param connection its earlier statements have ended
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export function runQueryWithinGroupTimeout<Row extends QueryResultRow>(
  connection: Client,
  groupTimeoutMs: number,
  query: QueryConfig,
  callback: Callback<Row>
): void {
  const protocol = connection.connection
  const statement = setGroupTimeout.name
  const values = [String(groupTimeoutMs)]

  protocol.stream.cork()
  protocol.bind({ statement, values }, true)
  protocol.execute({}, true)
  runQuery(connection, query, callback)
  protocol.stream.uncork()
}

/** Runs one statement. */
export function runQuery<Row extends QueryResultRow>(
  connection: Client,
  query: QueryConfig,
  callback: Callback<Row>
): void {
  connection.query<Row>(query, (error: Error | null, result) => {
    if (error === null) callback(null, rowsOf(result))
    else callback(error, [])
  })
}

/**
 * In spite of its type, pg returns a list if several statements have run. Only
 * the last one has rows.
 */
function rowsOf<Row extends QueryResultRow>(results: QueryResult<Row>): Row[] {
  return [results].flat().flatMap(({ rows }) => rows)
}
