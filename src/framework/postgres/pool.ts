import pg, { type ClientBase } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { PoolConfig } from './undocumented.ts'

/**
 * Milliseconds without a packet after which a connection is probed. A wait for
 * another migration has no timeout: only this ends it when the server is gone.
 */
const keepAliveDelayMs = 10_000

/**
 * Connections whose last commit may have reached no synchronous standby:
 * PostgreSQL reports a success after a warning.
 */
export const unreplicated = new WeakSet<ClientBase>()

/**
 * A pool of connections to the server of a URL, which must accept writes. After
 * a failover, the address must lead to the new primary.
 *
 * @param options `connectionTimeoutMillis` also limits the wait for a free
 *   connection, and the check that a new one accepts writes
 * @throws Error when the URL, or a certificate file that it names, cannot be
 *   used
 */
export function openPool(url: string, options: pg.PoolConfig): pg.Pool {
  const config: PoolConfig = {
    // Reads the certificate files: pg would read them for each connection, and
    // throw in its own callbacks if they are missing.
    ...parseIntoClientConfig(url),
    // After the parameters of the URL, which cannot override them.
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    ...options,
    onConnect: (connection) =>
      rejectReadOnly(connection, options.connectionTimeoutMillis)
  }
  const pool = new pg.Pool(config)

  pool.on('connect', (connection) => {
    // A lost connection also fails its statement.
    connection.on('error', () => {})
    // The text of this warning is translated, and its SQLSTATE is not specific.
    connection.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') unreplicated.add(connection)
    })
  })
  // The pool has already discarded the idle connection that was lost.
  pool.on('error', () => {})

  return pool
}

/** @throws Error if the server is read-only, as a standby is, or fails */
async function rejectReadOnly(connection: ClientBase, timeoutMs?: number) {
  const query = {
    text: "SELECT WHERE current_setting('transaction_read_only') = 'off'",
    query_timeout: timeoutMs
  }
  try {
    const { rowCount } = await connection.query(query)
    if (rowCount === 0) throw new Error('the server is read-only')
  } catch (error) {
    // pg would wait, without a limit, until the server closes it, too.
    connection.connection.stream.destroy()
    throw error
  }
}
