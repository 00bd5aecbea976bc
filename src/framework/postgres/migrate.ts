import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type ClientBase, type Pool } from 'pg'
import type { Logger } from 'pino'
import { shareRuns } from '../batch.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../message-of.ts'
import type { Database } from './database.ts'
import { meaningOf, Unavailable } from './failures.ts'
import { openPool } from './pool.ts'
import { sqlStateInside } from './reasons.ts'
import { sql } from './sql.ts'

/** Plain SQL that is applied to a database once. */
interface Migration {
  /** Such as `0001_framework`. The table pgmigrations records it. */
  name: string
  file: URL
}

/**
 * Milliseconds that a migration waits for a lock, at most: whoever needs the
 * same table waits behind it.
 */
const maxLockWaitMs = 2000

/** Three minutes: as long as most reports and dumps of a table take. */
const usualTries = { max: 60, intervalMs: 1000 }

const migrationLock = '7241865325823964'

/** @param lockTimeoutMs not for another migration: that wait ends with it */
const begin = (lockTimeoutMs: number) => sql`
  BEGIN ISOLATION LEVEL READ COMMITTED;

  SELECT pg_advisory_xact_lock(${migrationLock});

  SET LOCAL lock_timeout = ${String(lockTimeoutMs)};

  DO $$ BEGIN
    -- In another encoding PostgreSQL rejects or changes text that the OpenAPI
    -- document allows.
    IF current_setting('server_encoding') <> 'UTF8' THEN
      RAISE 'it must be encoded in UTF8, not %: create one with ENCODING ''UTF8''',
        current_setting('server_encoding');
    END IF;

    -- IF NOT EXISTS needs the privilege to create tables even when the table
    -- exists.
    IF to_regclass('pgmigrations') IS NULL THEN
      CREATE TABLE pgmigrations (
        id serial PRIMARY KEY,
        name varchar(255) NOT NULL,
        run_on timestamp NOT NULL
      );
    END IF;
  END $$
`

const appliedMigrations = sql`
  SELECT name
  FROM pgmigrations
`

interface Applied {
  name: string
}

type MigrationConfig = Pick<
  Config,
  'DATABASE_TIMEOUT_MS' | 'DATABASE_SERVICE_ROLE'
>

/** Reads the names of the migrations in a folder; ignores other files. */
export function readMigrations(folder: URL): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      name: file.replace(/\.sql$/, ''),
      file: new URL(file, folder)
    }))
}

/**
 * Applies the pending migrations, and then the folder's `grants.sql` for
 * DATABASE_SERVICE_ROLE, in one transaction. Concurrent calls wait for each
 * other. If another transaction holds a lock, the whole is tried again, so that
 * no request waits for long.
 *
 * @param applicationName names the connection in pg_stat_activity
 * @param tries how often, and after how many milliseconds
 * @throws Error when the database cannot be reached, is not encoded in UTF-8,
 *   or rejects a statement, or when a lock is held for all tries
 */
export async function applyMigrations(
  url: string,
  config: MigrationConfig,
  folder: URL,
  log: Logger,
  applicationName = 'migrate',
  tries = usualTries
): Promise<void> {
  const pool = openPool(url, {
    application_name: applicationName,
    connectionTimeoutMillis: config.DATABASE_TIMEOUT_MS
  })

  async function attempt(number: number): Promise<void> {
    try {
      await applyInTransaction(pool, config, folder, log)
    } catch (error) {
      if (!isBlocked(error) || number === tries.max) throw error
      if (number === 1) log.warn(`${messageOf(error)}; trying again`)
      await sleep(tries.intervalMs)
      await attempt(number + 1)
    }
  }

  await attempt(1).finally(() => pool.end())
}

/** Whether another transaction was in the way. */
function isBlocked(error: unknown): boolean {
  const lockTimeout = '55P03'
  const deadlock = '40P01'
  return [lockTimeout, deadlock].includes(sqlStateInside(error))
}

async function applyInTransaction(
  pool: Pool,
  { DATABASE_TIMEOUT_MS, DATABASE_SERVICE_ROLE: role }: MigrationConfig,
  folder: URL,
  log: Logger
): Promise<void> {
  // Statements that wait behind a migration must not exceed their timeout.
  const lockTimeoutMs = Math.min(maxLockWaitMs, DATABASE_TIMEOUT_MS / 2)
  const connection = await pool.connect()

  try {
    await connection.query(begin(lockTimeoutMs))
    const applied = await connection.query<Applied>(appliedMigrations)
    const pending = pendingOf(readMigrations(folder), applied.rows)
    for (const migration of pending) await apply(connection, migration)
    if (role !== undefined) await grant(connection, role, folder)
    await connection.query('COMMIT')

    for (const { name } of pending) log.info({ migration: name }, 'migrated')
  } finally {
    connection.release(true)
  }
}

async function apply(
  connection: ClientBase,
  { name, file }: Migration
): Promise<void> {
  await runFile(connection, `migration ${name}`, readFileSync(file, 'utf8'))
  await connection.query(
    'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
    [name]
  )
}

/** Grants the role what the service needs, as psql would with `-v role=…`. */
async function grant(
  connection: ClientBase,
  role: string,
  folder: URL
): Promise<void> {
  const grants = readFileSync(new URL('grants.sql', folder), 'utf8')
  const identifier = pg.escapeIdentifier(role)
  const text = grants.replaceAll(':"role"', () => identifier)
  await runFile(connection, 'grants.sql', text)
}

async function runFile(connection: ClientBase, what: string, text: string) {
  try {
    await connection.query(text)
  } catch (error) {
    const message = `${what} failed: ${messageOf(error)}`
    throw new Error(message, { cause: error })
  }
}

/** The migrations that are not applied yet. */
function pendingOf(migrations: Migration[], applied: Applied[]): Migration[] {
  const names = new Set(applied.map(({ name }) => name))
  return migrations.filter(({ name }) => !names.has(name))
}

/**
 * Returns a check that throws unless the database responds and has every
 * migration of the folder. Waiting callers share a query: /readyz needs no API
 * key, and must not occupy the pool.
 */
export function migrationCheck(
  database: Database,
  folder: URL
): () => Promise<void> {
  const migrations = readMigrations(folder)

  return shareRuns(async () => {
    const pending = await readPendingMigrations(database, migrations)
    database.metrics.pendingMigrations.set(pending.length)
    if (pending.length === 0) return

    const list = pending.join(', ')
    throw new Error(`migrations are pending (${list}): run \`npm run migrate\``)
  }, 'shared check of migrations')
}

/** Returns the names of the migrations that the database lacks. */
export async function readPendingMigrations(
  database: Database,
  migrations: Migration[]
): Promise<string[]> {
  const pending = pendingOf(migrations, await readApplied(database))
  return pending.map(({ name }) => name)
}

async function readApplied(database: Database): Promise<Applied[]> {
  try {
    return await database.read<Applied>(
      database.statements.add('applied-migrations', appliedMigrations)
    )
  } catch (error) {
    // Without the table, or the privilege to read it, there was no migration.
    const isUntouched =
      error instanceof Unavailable && meaningOf(error.cause) === 'schema'
    if (isUntouched) return []
    throw error
  }
}
