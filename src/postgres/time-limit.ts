import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { sql } from './sql.ts'

const name = 'limit-transaction'

/** Limits what follows in the transaction. It returns no row. */
const limitTransaction = sql`
  SELECT
  WHERE set_config('statement_timeout', $1, true) IS NULL
`

type Callback<Row extends QueryResultRow> = (
  error: Error | null,
  rows: Row[]
) => void

/** Prepares a new connection for `runQueryWithin`. */
export async function prepareTimeLimit(
  client: Client,
  timeoutMs: number
): Promise<void> {
  const unlimited = '0'
  const query = {
    name,
    text: limitTransaction,
    values: [unlimited],
    query_timeout: timeoutMs
  }
  await client.query(query)
}

/**
 * Runs one statement, which PostgreSQL cancels after some milliseconds.
 *
 * No Sync separates the limit from the statement, so that they are one
 * transaction: the limit ends with it, also behind a pooler. It does not apply
 * to the commit, and PostgreSQL ends it before the next statement. Neither is
 * true of a CancelRequest.
 *
 * @param client a connection whose earlier statements have ended
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export function runQueryWithin<Row extends QueryResultRow>(
  client: Client,
  limitMs: number,
  query: QueryConfig,
  callback: Callback<Row>
): void {
  const { connection } = client
  const values = [String(limitMs)]

  connection.stream.cork()
  connection.bind({ statement: name, values }, true)
  connection.execute({}, true)
  runQuery(client, query, callback)
  connection.stream.uncork()
}

/** Runs one statement. */
export function runQuery<Row extends QueryResultRow>(
  client: Client,
  query: QueryConfig,
  callback: Callback<Row>
): void {
  client.query<Row>(query, (error: Error | null, result) => {
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
