import pg, { type QueryConfig, type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import { countConnections, databaseErrors } from '../metrics.ts'
import { outages } from '../log.ts'
import { cancel } from './cancel.ts'
import {
  isConflict,
  isOfSchema,
  isOfStatement,
  OutcomeUnknown,
  readFailure,
  Unavailable,
  writeFailure
} from './errors.ts'
import { listen } from './listen.ts'
import { openPool, replicationDoubt } from './pool.ts'

/** Postgres, through a pool of connections. Ids (int8) are bigint. */
export interface Database {
  /**
   * Runs one statement that changes nothing and returns its rows.
   *
   * @throws Unavailable when the database cannot run it now
   */
  read<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]>
  /**
   * Runs one statement that changes something, commits it, and returns its rows.
   *
   * @throws Unavailable when it had no effect, OutcomeUnknown when that cannot be known
   */
  write<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]>
  /** As `write`, for what no request waits for: on a separate connection, one statement at a time, for one second at most. */
  writeInBackground(query: QueryConfig): Promise<void>
  /** Calls `notify` for every notification on the channel, and when some may have been missed. */
  listen(channel: string, notify: () => void): void
  /** Waits for the statements in flight and closes every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
  /** Maximum number of connections for requests. Background writes and notifications have one more each. */
  poolSize: number
  /** Milliseconds to connect in, and to run a statement in. */
  timeout: number
}

/** Milliseconds that the server has to end a cancelled statement, before the connection is closed. */
const grace = 1000
/** Milliseconds for a statement in the background. */
const backgroundTimeout = 1000

/** Our statements that run for longer than any may, from all replicas. */
const hangingStatements = `SELECT FROM pg_stat_activity WHERE application_name = current_setting('application_name')
  AND datname = current_database() AND state = 'active' AND query_start < now() - $1 * interval '1 ms'`

// int8 as bigint: a number would round ids beyond 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, BigInt)

/** What statements of one kind have in common. */
interface Lane {
  /** Their name in the log. */
  what: string
  pool: pg.Pool
  /** Milliseconds for a statement. */
  timeout: number
  isWrite: boolean
}

/** Opens the pools; they connect on first use. */
export function openDatabase({ url, poolSize, timeout }: DatabaseOptions, log: Logger): Database {
  const config = {
    connectionString: url,
    application_name: 'pet-categories',
    keepAlive: true,
    connectionTimeoutMillis: timeout,
    types
  }
  const pool = openPool({ ...config, max: poolSize }, log)
  const endCounting = countConnections(pool)
  const reads: Lane = { what: 'reads', pool, timeout, isWrite: false }
  const writes: Lane = { what: 'writes', pool, timeout, isWrite: true }
  const background: Lane = {
    what: 'background writes',
    pool: openPool({ ...config, max: 1 }, log),
    timeout: Math.min(timeout, backgroundTimeout),
    isWrite: true
  }

  const { begun, ended } = outages({
    quiet: 5000,
    begun: (what, err) =>
      log.error(
        { err },
        `the database is unavailable for ${what}${isOfSchema(err) ? ': migrations or grants may be missing' : ''}`
      ),
    ended: (what) => log.info(`the database is available again for ${what}`)
  })
  const counted = (error: Error, { what }: Lane, { name = what }: QueryConfig) => {
    databaseErrors.inc({ code: codeOf(error) })
    const isOutage = error instanceof Unavailable || error instanceof OutcomeUnknown
    if (isOutage && !isConflict(error.cause) && !pool.ending) {
      // A table can be missing for one statement while the others of its kind work.
      begun(isOfSchema(error.cause) ? name : what, error.cause)
    }
    return error
  }
  const listeners: (() => Promise<void>)[] = []
  /** Whether a connection was closed whose statement may go on at the server. */
  let mayHang = false

  async function run<Row extends QueryResultRow>(query: QueryConfig, lane: Lane): Promise<Row[]> {
    const client = await lane.pool.connect().catch((error: unknown) => {
      throw counted(new Unavailable(error), lane, query)
    })
    // A callback and a timer: after pg's promise and its query_timeout the rows outlive two garbage collections, which cost
    // a tenth of a small read. A statement_timeout would not end a commit that waits for a standby, and poolers reject it.
    return new Promise((resolve, reject) => {
      let isCancelled = false
      let timer = setTimeout(() => {
        isCancelled = true
        cancel(client, grace)
        timer = setTimeout(() => {
          mayHang = true
          void client.end()
        }, grace)
      }, lane.timeout)
      client.query<Row>(query, (error: Error | null, result) => {
        clearTimeout(timer)
        // A server whose client_min_messages hides warnings reports a cancelled wait for its standby as a success alone.
        const doubt = replicationDoubt(client) ?? (isCancelled ? new Error('cancelled at its commit') : undefined)
        const failure = failureOf(error, lane, doubt)
        // A cancellation can come late and must not hit the next statement.
        client.release(isCancelled || (failure !== undefined && !isOfStatement(error)))
        if (failure === undefined) {
          ended(lane.what)
          if (query.name !== undefined) ended(query.name)
          resolve(result.rows)
        } else {
          reject(counted(failure, lane, query))
        }
      })
    })
  }

  /**
   * As `run`, for a statement whose commit can hang at the server, where it keeps a connection even after ours is closed:
   * while a few do, no more are sent.
   */
  async function runWrite<Row extends QueryResultRow>(query: QueryConfig, lane: Lane): Promise<Row[]> {
    if (mayHang) {
      const check = { name: 'hanging-statements', text: hangingStatements, values: [timeout] }
      const hanging = await run(check, { ...reads, pool: lane.pool })
      mayHang = hanging.length > 0
      if (hanging.length >= Math.max(1, poolSize >> 2)) {
        throw counted(new Unavailable(new Error(`${hanging.length} cancelled statements still run`)), lane, query)
      }
    }
    return run(query, lane)
  }

  return {
    read: (query) => run(query, reads),
    write: (query) => runWrite(query, writes),
    async writeInBackground(query) {
      await runWrite(query, background)
    },
    listen(channel, notify) {
      listeners.push(listen(config, channel, notify))
    },
    async close() {
      endCounting()
      await Promise.all([...listeners.map((stop) => stop()), pool.end(), background.pool.end()])
    }
  }
}

/** The failure that the caller sees; a write that reports a success fails too if its commit is in doubt. */
function failureOf(error: Error | null, { isWrite }: Lane, doubt: Error | undefined): Error | undefined {
  if (error !== null) return isWrite ? writeFailure(error) : readFailure(error)
  return isWrite && doubt !== undefined ? new OutcomeUnknown(doubt) : undefined
}

const codeOf = (error: Error) =>
  error instanceof Unavailable ? 'unavailable' : error instanceof OutcomeUnknown ? 'outcome_unknown' : 'internal_error'
