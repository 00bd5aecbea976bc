import pg, { type PoolClient, type QueryConfig, type QueryResultRow } from 'pg'
import type { Logger } from 'pino'
import { countConnections, databaseErrors } from '../metrics.ts'
import { outage } from '../outage.ts'
import { listen } from './listen.ts'
import { OutcomeUnknown, readFailure, Unavailable, writeFailure } from './errors.ts'

/** Postgres, through a pool of connections. Ids (int8) are bigint. */
export interface Database {
  /**
   * Runs one statement that changes nothing and gives its rows.
   *
   * @throws Unavailable when the database cannot answer now
   */
  read<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]>
  /**
   * Runs one statement that changes something, commits it, and gives its rows.
   *
   * @throws Unavailable when it had no effect, OutcomeUnknown when that cannot be known
   */
  write<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]>
  /** Calls `notify` for every notification on the channel, and when some may have been missed. */
  listen(channel: string, notify: () => void): void
  /** Waits for the statements in flight and closes every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
  /** Connections at most. */
  poolSize: number
  /** Milliseconds to connect in, and to run a statement in. */
  timeout: number
}

// int8 as bigint: a number would round ids beyond 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, BigInt)

/** Opens a pool; it connects when it is first asked. */
export function openDatabase({ url, poolSize, timeout }: DatabaseOptions, log: Logger): Database {
  const config = {
    connectionString: url,
    application_name: 'pet-categories',
    keepAlive: true,
    connectionTimeoutMillis: timeout,
    statement_timeout: timeout,
    types
  }
  const pool = new pg.Pool({ ...config, max: poolSize })
  const endCounting = countConnections(pool)
  // A connection that breaks, idle or taken, would end the process if nobody listened. An idle one leaves the pool; one that
  // is taken fails its statement too, which is where it is dealt with.
  pool.on('error', (error) => log.debug({ err: error }, 'lost an idle database connection'))
  pool.on('connect', (client) => client.on('error', () => {}))

  const unavailability = outage({
    begun: (err) => log.error({ err }, 'the database is unavailable'),
    ended: () => log.info('the database answers again')
  })
  const counted = (error: Error) => {
    databaseErrors.inc({ code: codeOf(error) })
    if (error instanceof Unavailable) unavailability.begun(error.cause)
    return error
  }
  const listeners: (() => Promise<void>)[] = []

  async function run<Row extends QueryResultRow>(query: QueryConfig, failure: (error: Error) => Error): Promise<Row[]> {
    const client = await pool.connect().catch((error: unknown) => {
      throw counted(new Unavailable(error))
    })
    // A callback and a timer of ours: after pg's promise and its query_timeout the rows outlive two garbage collections,
    // which cost a tenth of a small read.
    return new Promise((resolve, reject) => {
      // Only for a server that has gone without a word: statement_timeout gives the better answer and comes first.
      const silence = setTimeout(() => void client.end(), timeout + 1000)
      client.query<Row>(query, (error: Error | null, result) => {
        clearTimeout(silence)
        if (error === null) {
          client.release()
          unavailability.ended()
          resolve(result.rows)
        } else {
          releaseAfter(error, client)
          reject(counted(failure(error)))
        }
      })
    })
  }

  return {
    read: (query) => run(query, readFailure),
    write: (query) => run(query, writeFailure),
    listen(channel, notify) {
      listeners.push(listen(config, channel, notify))
    },
    async close() {
      endCounting()
      await Promise.all([...listeners.map((stop) => stop()), pool.end()])
    }
  }
}

const codeOf = (error: Error) =>
  error instanceof Unavailable ? 'unavailable' : error instanceof OutcomeUnknown ? 'outcome_unknown' : 'internal_error'

/** Gives a connection back to the pool, or closes it when the error was not a plain refusal by the server. */
function releaseAfter(error: unknown, client: PoolClient): void {
  client.release(!(error instanceof pg.DatabaseError && error.severity === 'ERROR'))
}
