import pg, { type ClientBase } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { sql } from './sql.ts'
import type { PoolConfig } from './undocumented.ts'

/**
 * Milliseconds without a packet after which a connection is probed. The wait
 * for another migration has no timeout, so nothing else ends it when the server
 * is gone.
 */
const keepAliveDelayMs = 10_000

/**
 * Connections whose last commit may have reached no synchronous standby:
 * PostgreSQL reports a success after a warning.
 */
export const unreplicated = new WeakSet<ClientBase>()

/**
 * A pool of connections to the server of a URL, which must accept writes, with
 * settings that the statements need. After a failover, the address must lead to
 * the new primary.
 *
 * @param options `connectionTimeoutMillis` also limits the wait for a free
 *   connection, and the check of a new one
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
    query_timeout: 0,
    ...options,
    onConnect: (connection) =>
      rejectUnusable(connection, options.connectionTimeoutMillis)
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

/**
 * Settings of a session that change what the statements mean, with the values
 * that they need. In another isolation level, a create does not see the row
 * whose commit it has waited for. With the replication role `replica`, no
 * triggers run, not even those of foreign keys.
 */
const neededSettingsSql = sql`
  SELECT name, current_setting(name) AS value, needed
  FROM (VALUES
    ('transaction_read_only', 'off'),
    ('default_transaction_isolation', 'read committed'),
    ('session_replication_role', 'origin')
  ) AS setting (name, needed)
  WHERE current_setting(name) <> needed
`

interface Setting {
  name: string
  value: string
  needed: string
}

/** @throws Error if the statements cannot run on this server, or it fails */
async function rejectUnusable(connection: ClientBase, timeoutMs?: number) {
  const query = { text: neededSettingsSql, query_timeout: timeoutMs }
  try {
    const { rows } = await connection.query<Setting>(query)
    const [wrong] = rows
    if (wrong?.name === 'transaction_read_only')
      throw new Error('the server is read-only')
    if (wrong !== undefined) {
      const { name, value, needed } = wrong
      throw new Error(
        `its setting ${name} must be '${needed}', not '${value}': ` +
          'correct it with ALTER DATABASE or ALTER ROLE'
      )
    }
  } catch (error) {
    // Otherwise, pg would wait without a limit for the server to close it.
    connection.connection.stream.destroy()
    throw error
  }
}
