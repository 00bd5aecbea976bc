import pg from 'pg'
import type { Logger } from 'pino'

const unreplicated = new WeakMap<pg.Client, Error>()

/** What the server said of a commit on the connection that may not have reached its synchronous standby, if any. */
export const replicationDoubt = (client: pg.Client): Error | undefined => unreplicated.get(client)

/** Makes a pool that survives the loss of its connections. */
export function openPool(config: pg.PoolConfig, log: Logger): pg.Pool {
  const pool = new pg.Pool(config)
  // A connection that breaks, idle or in use, would end the process without a listener. An idle one leaves the pool; one in
  // use fails its statement too, which is handled there.
  pool.on('error', (error) => log.debug({ err: error }, 'lost an idle database connection'))
  pool.on('connect', (client) => {
    client.on('error', () => {})
    // The server reports a success then, too. The text of the warning is translated, and its SQLSTATE is not specific.
    client.on('notice', ({ routine, message }) => {
      if (routine === 'SyncRepWaitForLSN') unreplicated.set(client, new Error(message))
    })
  })
  return pool
}
