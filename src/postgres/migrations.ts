import { readdirSync, readFileSync } from 'node:fs'
import pg, { type ClientBase } from 'pg'
import type { Logger } from 'pino'
import { messageOf } from '../errors.ts'
import { parseDatabaseUrl } from './database.ts'
import { throwWithRemedy, UnrecoverableDatabaseError } from './remedies.ts'
import { postgresErrorIn } from './failures.ts'
import { rawSql } from './sql.ts'

const migrationsFolder = new URL('../../migrations/', import.meta.url)

/** Milliseconds. */
const connectTimeoutMs = 5000

/**
 * The number of the advisory lock has no meaning, but all versions must have
 * the same. The wait for another migration has no limit.
 *
 * While a migration waits for a lock of a table, the statements of the service
 * wait behind it, and fail after half a second. So it waits for at most two
 * seconds.
 *
 * The commit does not wait for a synchronous standby: while that is away, the
 * locks of the migration would stop all reads. No row can be lost by this,
 * because the rows of a new table follow it in the WAL, and their commits wait.
 */
const beginSql = rawSql`
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SELECT pg_advisory_xact_lock(7241865325823964);
  SET LOCAL lock_timeout = 2000;
  SET LOCAL synchronous_commit = local;
  -- Ends the session if its client vanishes.
  SET LOCAL idle_in_transaction_session_timeout = 60000
`

export const unreleasedMessage =
  'an unreleased version made the tables of this database: ' +
  'export what you need, and start anew with an empty database'

/** Returns a row if an unreleased version made the tables. */
export const unreleasedTablesSql = rawSql`
  SELECT
  WHERE to_regclass('api_keys') IS NOT NULL
    AND to_regclass('applied_migrations') IS NULL
`

const createAppliedMigrationsSql = rawSql`
  CREATE TABLE IF NOT EXISTS applied_migrations (
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
  )
`

/**
 * The files of the migrations, in their order.
 *
 * @throws Error when the folder is missing
 */
export const readMigrationNames = (): string[] =>
  readdirSync(migrationsFolder)
    .filter((name) => /^\d.*\.sql$/.test(name))
    .sort()

/** What to do about a statement of a migration that failed, by SQLSTATE. */
const statementRemedies: Record<string, string> = {
  '42501': 'migrate as the owner of the database',
  '55P03': 'a transaction holds a lock, and nothing has changed: try again',
  '40P01': 'another transaction was in the way: try again'
}

/**
 * Applies the pending migrations, and then grants.sql, in one transaction.
 * Concurrent calls wait for each other.
 *
 * @throws Error of one line when the database cannot be reached, when it rejects
 *   a statement, or when another transaction holds a lock
 */
export async function applyMigrations(url: string, log: Logger): Promise<void> {
  try {
    const names = await applyInTransaction(url)
    for (const migration of names) log.info({ migration }, 'migrated')
  } catch (cause) {
    const remedy = statementRemedies[postgresErrorIn(cause).code ?? '']
    const message = [messageOf(cause), remedy].filter(Boolean).join(': ')
    throw new Error(message, { cause })
  }
}

/** Returns the names of the migrations that it has applied. */
async function applyInTransaction(url: string): Promise<string[]> {
  const connection = new pg.Client({
    ...parseDatabaseUrl(url),
    // Not that of the service, whose abandoned connections are ended.
    application_name: 'pet-categories migrate',
    connectionTimeoutMillis: connectTimeoutMs,
    // Otherwise nothing would end the wait for a server that is gone.
    keepAlive: true
  })
  // A lost connection also fails its statement.
  connection.on('error', () => {})

  try {
    await connection.connect().catch(throwWithRemedy)
    await connection.query(beginSql)
    const tables = await connection.query(unreleasedTablesSql)
    if (tables.rowCount !== 0)
      throw new UnrecoverableDatabaseError(unreleasedMessage)
    await connection.query(createAppliedMigrationsSql)
    const pending = await findPendingMigrations(connection)
    for (const name of pending) {
      await runFile(connection, name)
      const insert = 'INSERT INTO applied_migrations (name) VALUES ($1)'
      await connection.query(insert, [name])
    }
    await runFile(connection, 'grants.sql')
    await connection.query('COMMIT')
    return pending
  } finally {
    await connection.end()
  }
}

async function findPendingMigrations(
  connection: ClientBase
): Promise<string[]> {
  const { rows } = await connection.query<{ name: string }>(
    'SELECT name FROM applied_migrations'
  )
  const applied = new Set(rows.map(({ name }) => name))
  return readMigrationNames().filter((name) => !applied.has(name))
}

async function runFile(connection: ClientBase, name: string): Promise<void> {
  try {
    await connection.query(
      readFileSync(new URL(name, migrationsFolder), 'utf8')
    )
  } catch (cause) {
    throw new Error(`${name} failed: ${messageOf(cause)}`, { cause })
  }
}
