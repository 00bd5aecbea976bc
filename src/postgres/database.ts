import pg, {
  type ClientConfig,
  type Pool,
  type PoolClient,
  type QueryResult,
  type QueryResultRow
} from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { Logger } from 'pino'
import { batch, type BatchOptions } from '../batch.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'
import type { Metrics } from '../metrics.ts'
import { createPool, unreplicatedConnections } from './pool.ts'
import {
  failureOf,
  keepsConnection,
  OutcomeUnknownError,
  postgresErrorIn,
  DatabaseUnavailableError
} from './failures.ts'
import { rawSql } from './sql.ts'

/** A statement, which each connection prepares once, under its name. */
export interface Statement {
  name: string
  text: string
  /** How many of its runs `batch` and `share` let run at the same time. */
  concurrency: number
}

/**
 * Ends the server processes of writes that were given up while they waited for
 * a synchronous standby. Nothing else ends them: statement_timeout is over when
 * a commit begins, and PostgreSQL does not notice that the client has left.
 */
const endAbandonedWritesSql = rawSql`
  SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
  WHERE application_name = current_setting('application_name')
    AND datname = current_database()
    AND usename = current_user
    AND wait_event = 'SyncRep'
    AND query_start < now() - $1 * interval '1 ms'
`

/** Milliseconds between two log lines about the same failure. */
const logIntervalMs = 60_000

/** PostgreSQL, as connections to the primary. Each statement is a transaction. */
export class Database {
  /** Milliseconds until a statement is cancelled. */
  readonly timeoutMs: number
  readonly log: Logger
  readonly #pool: Pool
  readonly #metrics: Metrics
  /** All statements, by their names. */
  readonly statements = new Map<string, Statement>()
  readonly #endAbandonedWrites: Statement
  readonly #loggedAt = new Map<string, number>()
  /**
   * Whether any statement has succeeded. Before that, failures are not logged
   * here, because readiness.ts logs why the database is not ready.
   */
  #hasSucceeded = false

  /**
   * Connections are made on first use.
   *
   * @throws Error when the URL, or a certificate file that it names, cannot be
   *   used
   */
  constructor(
    url: string,
    { DATABASE_TIMEOUT_MS: timeoutMs }: Pick<Config, 'DATABASE_TIMEOUT_MS'>,
    log: Logger,
    metrics: Metrics
  ) {
    this.timeoutMs = timeoutMs
    this.log = log
    this.#metrics = metrics
    const clientConfig = parseDatabaseUrl(url)
    // Completed by the variables of libpq.
    const { database, host, port, user } = new pg.Client(clientConfig)
    log.info(`using the database ${database} at ${host}:${port} as ${user}`)
    this.#pool = createPool(clientConfig, timeoutMs)
    metrics.addGauge(
      'database_connections_active',
      'Connections in use',
      () => this.#pool.totalCount - this.#pool.idleCount
    )
    this.#endAbandonedWrites = this.defineStatement(
      'endAbandonedWrites',
      endAbandonedWritesSql
    )
  }

  /**
   * Gives a name to a statement.
   *
   * A locked table, or a server process that hangs, delays only the statements
   * that need it, because the pool has connections for all of them together.
   * Some reads use several at a time. A create uses one, because all creates that
   * wait share the next statement.
   *
   * @throws Error if another statement has the name: PostgreSQL would reject
   *   it, but only at the first request that runs it
   */
  defineStatement(
    name: string,
    text: string,
    { concurrency }: Pick<Statement, 'concurrency'> = { concurrency: 1 }
  ): Statement {
    if (this.statements.has(name))
      throw new Error(`two statements are called ${name}`)
    const statement = { name, text, concurrency }
    this.statements.set(name, statement)
    this.#pool.options.max += concurrency
    for (const result of ['ok', 'failed'])
      this.#metrics.statementDuration.zero({ statement: name, result })

    return statement
  }

  /**
   * Runs a statement without an effect.
   *
   * @returns its rows
   * @throws DatabaseUnavailableError, or the error that PostgreSQL sent: see
   *   failures.ts
   */
  read<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[]
  ): Promise<Row[]> {
    return this.#run(statement, values, { isWrite: false })
  }

  /**
   * Runs a statement with an effect, and commits it. If its outcome is not known,
   * its error says so.
   *
   * @returns its rows
   * @throws OutcomeUnknownError, and the errors of `read`
   */
  write<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[]
  ): Promise<Row[]> {
    return this.#run(statement, values, { isWrite: true })
  }

  async #run<Row extends QueryResultRow>(
    { name, text }: Statement,
    values: unknown[],
    { isWrite }: { isWrite: boolean }
  ): Promise<Row[]> {
    const end = this.#metrics.statementDuration.startTimer({ statement: name })
    let connection: PoolClient | undefined
    try {
      connection = await this.#connect()
      const rows = await execute<Row>(connection, { name, text }, values)
      if (unreplicatedConnections.has(connection))
        throw new Error('the wait for the synchronous standby was cancelled')

      connection.release()
      this.#hasSucceeded = true
      end({ result: 'ok' })
      return rows
    } catch (error) {
      connection?.release(!keepsConnection(error))
      end({ result: 'failed' })
      const failure = connection ? failureOf(error, isWrite) : error
      this.#report(failure, name)
      throw failure
    }
  }

  /**
   * Batches the calls of a statement, within its concurrency.
   *
   * @param run like that of `batch`; uses one connection
   */
  batch<Item, Result>(
    { concurrency }: Statement,
    run: (items: Item[]) => Promise<Result[]>,
    options: Pick<BatchOptions, 'maxItems' | 'sharesEqual'> = {}
  ): (item: Item) => Promise<Result> {
    return batch(run, {
      concurrency,
      maxWaitMs: this.timeoutMs,
      ...options
    })
  }

  /**
   * Lets equal calls that wait at the same time share one run and its result:
   * ten requests for the same page cause one statement. Items are equal if their
   * JSON is.
   */
  share<Item, Result>(
    statement: Statement,
    run: (item: Item) => Promise<Result>
  ): (item: Item) => Promise<Result> {
    const runFirst = async ([item]: Item[]) => [await run(item as Item)]
    return this.batch(statement, runFirst, { maxItems: 1, sharesEqual: true })
  }

  /** Waits for the statements in flight and closes every connection. */
  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** @throws DatabaseUnavailableError, because nothing was sent */
  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw new DatabaseUnavailableError(error)
    }
  }

  /** Counts a failure, logs an outage, and ends abandoned writes. */
  #report(failure: unknown, statement: string): void {
    const isOutage =
      failure instanceof DatabaseUnavailableError ||
      failure instanceof OutcomeUnknownError
    const code = isOutage ? failure.code : 'internal_error'
    this.#metrics.databaseErrors.inc({ code })
    // sendError logs the others, with their requests.
    if (!isOutage || !this.#hasSucceeded) return

    const { code: sqlState = 'none' } = postgresErrorIn(failure)
    const now = performance.now()
    if (now - (this.#loggedAt.get(sqlState) ?? -Infinity) > logIntervalMs) {
      this.#loggedAt.set(sqlState, now)
      this.log.error({ err: failure.cause, statement }, failure.message)
    }
    // The server process may still wait for the standby.
    if (sqlState === 'none' && failure instanceof OutcomeUnknownError)
      this.read(this.#endAbandonedWrites, [this.timeoutMs]).catch(() => {})
  }
}

/**
 * Runs a statement on a connection. With a config object, pg would copy its
 * properties and make a promise: a small read would take a tenth longer.
 */
const execute = <Row extends QueryResultRow>(
  connection: PoolClient,
  { name, text }: Pick<Statement, 'name' | 'text'>,
  values: unknown[]
): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    const callback = (error: Error | null, result: QueryResult<Row>) => {
      if (error) reject(error)
      else resolve(result.rows)
    }
    connection.query(
      Object.assign(new pg.Query(text, values), { name, callback })
    )
  })

/**
 * Reads a URL, and the certificate files that it names. pg itself would let the
 * parameters of a `connectionString` override the other settings.
 */
export function parseDatabaseUrl(url: string): ClientConfig {
  try {
    return parseIntoClientConfig(url)
  } catch (cause) {
    const message = `DATABASE_URL cannot be used: ${messageOf(cause)}`
    throw new Error(message, { cause })
  }
}
