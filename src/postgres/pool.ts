import pg, { type ClientBase, type ClientConfig } from 'pg'
import { rawSql } from './sql.ts'

/** Milliseconds that a statement waits for a lock. */
const lockTimeoutMs = 500

/**
 * Milliseconds past statement_timeout after which the server counts as frozen or
 * gone, and the connection is given up.
 */
const graceMs = 1000

// No id is above 2^53 - 1: see migrations/.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** In the types of pg, onConnect cannot be asynchronous. */
type PoolConfig = pg.PoolConfig & {
  onConnect: (connection: ClientBase) => Promise<void>
}

/** The statements cannot run on this server. The message has the remedy. */
export class ServerSettingsError extends Error {}

/**
 * Connections whose last commit may have reached no synchronous standby.
 * PostgreSQL reports a success after a warning when the wait is cancelled.
 */
export const unreplicatedConnections = new WeakSet<ClientBase>()

/**
 * Creates a pool of connections to a server that accepts writes, with the
 * settings that the statements need. After a failover, the address must lead to
 * the new primary.
 *
 * @param timeoutMs milliseconds for a connection, and for a statement
 * @returns a pool whose maximum, `options.max`, is 0 connections
 */
export function createPool(
  clientConfig: ClientConfig,
  timeoutMs: number
): pg.Pool {
  const settings = neededSettings(timeoutMs)
  const config: PoolConfig = {
    ...clientConfig,
    application_name: 'pet-categories',
    options: [clientConfig.options, ...optionsOf(settings)].join(' ').trim(),
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs + graceMs,
    keepAlive: true,
    onConnect: (connection) => requireSettings(connection, settings)
  }
  const pool = new pg.Pool(config)
  // As an option, 0 would mean the default.
  pool.options.max = 0

  pool.on('connect', (connection) => {
    // A lost connection also fails its statement.
    connection.on('error', () => {})
    // The text of this warning is translated, and its SQLSTATE is not specific.
    connection.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN')
        unreplicatedConnections.add(connection)
    })
  })
  // The pool has already discarded the idle connection that was lost.
  pool.on('error', () => {})

  return pool
}

/**
 * The settings that the statements need, as pg_settings has them:
 *
 * - bounds for waits;
 * - commits that are on the disk and on the synchronous standby, and the warning
 *   that a wait for the standby was cancelled;
 * - the isolation level in which a statement sees what was committed before it;
 * - a replication role that checks foreign keys: `replica` would not;
 * - generic plans, each made once. Otherwise PostgreSQL plans a page at each
 *   request, for longer than it takes to read the page. A generic plan does not
 *   know the LIMIT, and expects a tenth of the table: for so many rows, `jit`
 *   would compile it.
 */
const neededSettings = (timeoutMs: number): Record<string, string> => ({
  statement_timeout: String(timeoutMs),
  lock_timeout: String(lockTimeoutMs),
  synchronous_commit: 'on',
  client_min_messages: 'notice',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  default_transaction_isolation: 'read committed',
  session_replication_role: 'origin',
  transaction_read_only: 'off'
})

/**
 * Only a superuser may set the replication role, and whether a server is
 * read-only is not ours to change.
 */
const checkOnlySettings = ['session_replication_role', 'transaction_read_only']

/** The settings as options of the server's command line. */
const optionsOf = (settings: Record<string, string>): string[] =>
  Object.entries(settings)
    .filter(([name]) => !checkOnlySettings.includes(name))
    .map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`)

const wrongSettingsSql = rawSql`
  SELECT
    name,
    format('ALTER ROLE %I SET %s = %L', current_user, name, needed) AS remedy
  FROM json_each_text($1) AS needed (name, needed)
  JOIN pg_settings USING (name)
  WHERE setting <> needed
`

/**
 * Rejects a connection without the settings: a pooler may drop them, and a
 * server that is no longer, or not yet, the primary would return old lists.
 *
 * @throws ServerSettingsError with the statements that correct the settings
 */
async function requireSettings(
  connection: ClientBase,
  settings: Record<string, string>
): Promise<void> {
  const { rows } = await connection.query<{ name: string; remedy: string }>(
    wrongSettingsSql,
    [JSON.stringify(settings)]
  )
  if (rows.some(({ name }) => name === 'transaction_read_only'))
    throw new ServerSettingsError('the server is read-only')
  if (rows.length > 0) {
    const remedies = rows.map(({ remedy }) => remedy).join('; ')
    throw new ServerSettingsError(`its settings must be corrected: ${remedies}`)
  }
}
