import pg, { type QueryConfig, type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import { type Config, serviceName } from '../config.ts'
import { countConnections, databaseErrors } from '../metrics.ts'
import { cancel, createPool } from './primary-pool.ts'
import {
  failureOf,
  meaningOf,
  OutcomeUnknown,
  Unavailable
} from './outcomes.ts'

/** Milliseconds for a statement in the background, and for the server to end a cancelled statement. */
const second = 1000
/** Milliseconds without a failure before a success ends an outage: some statements may succeed during it. */
const quietTime = 5000

/**
 * Terminates the commits, of all replicas, that still wait for a standby after they were cancelled: PostgreSQL would keep
 * their connections open although the service has closed them.
 */
const endHanging = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = current_setting('application_name') AND datname = current_database()
    AND usename = current_user AND wait_event = 'SyncRep' AND query_start < now() - $1 * interval '1 ms'`

// A number would round an int8 beyond 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, BigInt)

export type Database = ReturnType<typeof openDatabase>

/**
 * Opens PostgreSQL; connections are made on first use. Statements return their rows, in which an int8 is a bigint.
 *
 * @throws Error when the URL, or a certificate file that it names, cannot be used
 */
export function openDatabase(
  url: string,
  {
    MAX_DATABASE_CONNECTIONS,
    DATABASE_TIMEOUT_MS: timeout
  }: Pick<Config, 'MAX_DATABASE_CONNECTIONS' | 'DATABASE_TIMEOUT_MS'>,
  log: Logger
) {
  const options = { application_name: serviceName, keepAlive: true, types }
  const pool = createPool(url, timeout, {
    ...options,
    max: MAX_DATABASE_CONNECTIONS
  })
  const ownPool = createPool(url, timeout, { ...options, max: 1 })
  countConnections(pool)
  // `failedAt` is the time of the last failure during an outage, otherwise 0.
  const reads = { kind: 'reads', pool, timeout, failedAt: 0 }
  const writes = { ...reads, kind: 'writes' }
  const background = {
    ...writes,
    kind: 'background writes',
    pool: ownPool,
    timeout: Math.min(timeout, second)
  }

  /** Counts a failure, and logs the first of an outage. */
  function report(error: Error, use: typeof reads): Error {
    const isOutage =
      error instanceof Unavailable || error instanceof OutcomeUnknown
    databaseErrors.inc({ code: isOutage ? error.code : 'internal_error' })
    const meaning = meaningOf(error.cause)
    if (!isOutage || meaning === 'conflict' || pool.ending) return error
    const hint =
      meaning === 'schema' ? ': migrations or grants may be missing' : ''
    if (use.failedAt === 0)
      log.error(
        { err: error.cause },
        `the database is unavailable for ${use.kind}${hint}`
      )
    use.failedAt = performance.now()
    return error
  }

  /** Logs the first success after an outage. */
  function reportSuccess(use: typeof reads): void {
    if (use.failedAt === 0 || performance.now() - use.failedAt < quietTime)
      return
    use.failedAt = 0
    log.info(`the database is available again for ${use.kind}`)
  }

  async function run<Row extends QueryResultRow>(
    query: QueryConfig,
    use: typeof reads
  ) {
    const client = await use.pool.connect().catch((error: unknown) => {
      throw report(new Unavailable(error), use)
    })
    // A callback and a timer: with a promise and pg's query_timeout the rows outlive two garbage collections, which costs a
    // tenth of a small read. A statement_timeout does not end a commit that waits for a standby, and poolers reject it.
    return new Promise<Row[]>((resolve, reject) => {
      let isCancelled = false
      let timer = setTimeout(() => {
        isCancelled = true
        cancel(client, second)
        timer = setTimeout(() => {
          void client.end()
          run({ text: endHanging, values: [timeout] }, reads).catch(() => {})
        }, second)
      }, use.timeout)
      client.query<Row>(query, (error: Error | null, result) => {
        clearTimeout(timer)
        // A server whose client_min_messages hides warnings reports a success after the cancelled wait for a standby.
        const isInDoubt = isCancelled && use !== reads
        const cause =
          error ??
          (isInDoubt ? new Error('the statement was cancelled') : undefined)
        const meaning = meaningOf(cause)
        // A late cancellation must not reach the next statement, nor what is wrong with the connection.
        client.release(
          isCancelled ||
            (cause && (meaning === undefined || meaning === 'connection'))
        )
        if (cause !== undefined)
          return reject(report(failureOf(cause, use !== reads), use))
        reportSuccess(use)
        resolve(result.rows)
      })
    })
  }

  return {
    timeout,
    /** Runs one statement that changes nothing. Rejects with Unavailable if the database cannot run it now. */
    read: <Row extends QueryResultRow>(query: QueryConfig) =>
      run<Row>(query, reads),
    /** Runs and commits one statement. Rejects with Unavailable if it had no effect, OutcomeUnknown if that is not known. */
    write: <Row extends QueryResultRow>(query: QueryConfig) =>
      run<Row>(query, writes),
    /** Like `write`, for what no request waits for: on a separate connection, for at most a second. */
    writeInBackground: (query: QueryConfig) => run(query, background),
    /** Waits for the statements in flight and closes every connection. */
    close: (): Promise<unknown> => Promise.all([pool.end(), ownPool.end()])
  }
}

/**
 * SQL for rows from the parameters of a statement, an array for each column, with their positions. The subqueries hide the
 * lengths of the arrays from the planner. Otherwise PostgreSQL may plan each execution again, which can take longer than it.
 * Look up rows of a table that grows by LATERAL and LIMIT: a plan for a join, made on a small table, would keep scanning it.
 *
 * @param types the SQL types of the columns
 */
export const givenRows = (types: string[]): string =>
  `unnest(${types.map((type, index) => `(SELECT $${index + 1}::${type}[])`).join()}) WITH ORDINALITY`

/** The parameters of a statement for any number of rows: an array for each column. There must be a row. */
export const columnsOf = (rows: unknown[][]): unknown[][] =>
  (rows[0] as unknown[]).map((_value, column) => rows.map((row) => row[column]))

/** SQL for a timestamptz as RFC 3339 text in UTC, to the millisecond, whatever `datestyle` an operator has set. */
export const isoTime = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
