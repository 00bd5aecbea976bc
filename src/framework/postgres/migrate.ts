import { readdirSync, readFileSync } from 'node:fs'
import type { ClientBase } from 'pg'
import type { Logger } from 'pino'
import { shareRuns } from '../batch.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../log.ts'
import { pendingMigrations } from '../metrics.ts'
import type { Reader } from './database.ts'
import { meaningOf, Unavailable } from './failures.ts'
import { PrimaryPool } from './primary-pool.ts'
import { grantExactly, type Privileges } from './privileges.ts'
import { sql } from './sql.ts'

/** Plain SQL that is applied to a database once. */
interface Migration {
  /** Such as `0001_categories`. The table pgmigrations records it. */
  name: string
  file: URL
}

/** What a database must have for the service. */
export interface DatabaseSchema {
  /** In the order in which they are applied. */
  migrations: Migration[]
  /** Of DATABASE_SERVICE_ROLE, which loses all others on these objects. */
  privileges: Privileges
}

/**
 * The advisory lock of a migration. The lock and the table pgmigrations are
 * from node-pg-migrate, which earlier versions used.
 */
const migrationLock = '7241865325823964'

const begin = sql`
  BEGIN ISOLATION LEVEL READ COMMITTED;

  SELECT pg_advisory_xact_lock(${migrationLock});

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
 * Applies the pending migrations and grants the privileges to
 * DATABASE_SERVICE_ROLE, in one transaction. Concurrent calls wait for each
 * other.
 *
 * @throws Error when the database cannot be reached, is not encoded in UTF-8,
 *   or rejects a statement
 */
export async function applyMigrations(
  url: string,
  config: MigrationConfig,
  schema: DatabaseSchema,
  log: Logger,
  applicationName = 'migrate'
): Promise<void> {
  const pool = new PrimaryPool(url, config.DATABASE_TIMEOUT_MS, {
    application_name: applicationName
  })

  try {
    const role = config.DATABASE_SERVICE_ROLE
    const applied = await applyInTransaction(pool, role, schema)

    pendingMigrations.set(0)
    for (const { name } of applied) log.info({ migration: name }, 'migrated')
  } finally {
    await pool.end()
  }
}

/** Returns the migrations that it applied. */
async function applyInTransaction(
  pool: PrimaryPool,
  role: string | undefined,
  { migrations, privileges }: DatabaseSchema
): Promise<Migration[]> {
  const connection = await pool.connect()

  try {
    await connection.query(begin)
    const applied = await applyPending(connection, migrations)

    if (role !== undefined) {
      const all = { ...privileges, pgmigrations: 'SELECT' }
      await grantExactly(connection, role, all)
    }

    await connection.query('COMMIT')
    return applied
  } finally {
    connection.release(true)
  }
}

/** Returns the migrations that it applied. */
async function applyPending(
  connection: ClientBase,
  migrations: Migration[]
): Promise<Migration[]> {
  const { rows } = await connection.query<{ name: string }>(appliedMigrations)
  const pending = withoutApplied(migrations, rows)
  pendingMigrations.set(pending.length)

  for (const migration of pending) {
    await applyMigration(connection, migration)
    await connection.query(
      'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
      [migration.name]
    )
  }

  return pending
}

/** The migrations that are not applied yet. */
function withoutApplied(
  migrations: Migration[],
  applied: { name: string }[]
): Migration[] {
  const names = new Set(applied.map(({ name }) => name))
  return migrations.filter(({ name }) => !names.has(name))
}

async function applyMigration(
  connection: ClientBase,
  { name, file }: Migration
): Promise<void> {
  try {
    await connection.query(readFileSync(file, 'utf8'))
  } catch (error) {
    const message = `migration ${name} failed: ${messageOf(error)}`
    throw new Error(message, { cause: error })
  }
}

/**
 * Returns a check that throws unless the database responds and has every
 * migration. Waiting callers share a query: /readyz needs no API key, and must
 * not occupy the pool.
 */
export function migrationCheck(
  database: Reader,
  migrations: Migration[]
): () => Promise<void> {
  return shareRuns(
    () => checkMigrations(database, migrations),
    'shared check of migrations'
  )
}

async function checkMigrations(
  database: Reader,
  migrations: Migration[]
): Promise<void> {
  const pending = await readPendingMigrations(database, migrations)
  pendingMigrations.set(pending.length)
  if (pending.length === 0) return

  const list = pending.join(', ')
  throw new Error(`migrations are pending (${list}): run \`npm run migrate\``)
}

/** Returns the names of the migrations that the database lacks. */
export async function readPendingMigrations(
  database: Reader,
  migrations: Migration[]
): Promise<string[]> {
  const pending = withoutApplied(migrations, await readApplied(database))
  return pending.map(({ name }) => name)
}

async function readApplied(database: Reader): Promise<{ name: string }[]> {
  try {
    return await database.read(
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
