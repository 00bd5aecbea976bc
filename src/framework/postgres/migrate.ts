import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import pg, { type ClientBase, type Pool } from 'pg'
import type { Logger } from 'pino'
import { sharedCall } from '../batch.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../message-of.ts'
import { retry } from '../retry.ts'
import type { Database } from './database.ts'
import { errorKindOf } from './failures.ts'
import { hedged } from './hedged.ts'
import { openPool } from './pool.ts'
import { sql } from './sql.ts'

/**
 * Maximum milliseconds that a migration waits for a lock: statements that
 * need the same table wait behind it.
 */
const maxLockWaitMs = 2000

/**
 * Attempts take three minutes in all, because a second passes between two of
 * them. Most reports and dumps that hold a lock take less. It is a shorter time
 * if DATABASE_TIMEOUT_MS is below 4000.
 */
const maxAttempts = 60

/**
 * The commit does not wait for a synchronous standby: while that is away, the
 * locks of the migration would stop all reads. No row can be lost by this,
 * because the rows of a new table follow it in the WAL, and their commits wait.
 *
 * The number of the advisory lock has no meaning, but all versions must have
 * the same. The first commits stored no hashes.
 *
 * @param lockTimeoutMs does not limit the wait for another migration, which
 *   ends when that does
 */
const beginSql = (lockTimeoutMs: number) => sql`
  BEGIN ISOLATION LEVEL READ COMMITTED;

  SELECT pg_advisory_xact_lock(7241865325823964);

  SET LOCAL lock_timeout = ${String(lockTimeoutMs)};
  SET LOCAL synchronous_commit = local;
  -- If the host of the migration is gone.
  SET LOCAL idle_in_transaction_session_timeout = 60000;

  DO $$ BEGIN
    -- IF NOT EXISTS needs the privilege to create tables even when the table
    -- exists.
    IF to_regclass('pgmigrations') IS NULL THEN
      CREATE TABLE pgmigrations (
        id serial PRIMARY KEY,
        name varchar(255) NOT NULL,
        run_on timestamp NOT NULL,
        hash text
      );
    ELSIF NOT EXISTS (
      SELECT FROM pg_attribute
      WHERE attrelid = 'pgmigrations'::regclass AND attname = 'hash'
    ) THEN
      ALTER TABLE pgmigrations ADD COLUMN hash text;
    END IF;
  END $$
`

/** The column may be missing, or be null for the first migrations. */
const appliedMigrationsSql = sql`
  SELECT name, to_jsonb(pgmigrations) ->> 'hash' AS hash
  FROM pgmigrations
`

/** A file of a folder, without `.sql`. */
interface Migration {
  name: string
  /** SHA-256 of its text, with LF, in hexadecimal. */
  hash: string
}

interface Applied {
  name: string
  hash: string | null
}

type MigrationConfig = Pick<
  Config,
  'DATABASE_TIMEOUT_MS' | 'DATABASE_SERVICE_ROLE'
>

/**
 * Applies the pending migrations, and then the folder's `grants.sql` for
 * DATABASE_SERVICE_ROLE, in one transaction. Concurrent calls wait for each
 * other. If another transaction holds a lock, the whole transaction is tried
 * again, so that no request waits for long.
 *
 * @throws Error when the database cannot be reached or rejects a statement, or
 *   when a lock is held during all attempts
 */
export async function applyMigrations(
  url: string,
  config: MigrationConfig,
  folder: URL,
  log: Logger
): Promise<void> {
  const pool = openPool(url, {
    application_name: 'migrate',
    connectionTimeoutMillis: config.DATABASE_TIMEOUT_MS
  })

  await retry(() => applyInTransaction(pool, config, folder, log), {
    report: (error) => log.warn(`${messageOf(error)}; trying again`),
    isTemporary: (error) => errorKindOf(error) === 'conflict',
    maxAttempts
  }).finally(() => pool.end())
}

async function applyInTransaction(
  pool: Pool,
  { DATABASE_TIMEOUT_MS, DATABASE_SERVICE_ROLE: role }: MigrationConfig,
  folder: URL,
  log: Logger
): Promise<void> {
  const connection = await pool.connect()
  try {
    // Statements that wait behind a migration must not exceed their timeout.
    await connection.query(
      beginSql(Math.min(maxLockWaitMs, DATABASE_TIMEOUT_MS / 2))
    )
    const { rows } = await connection.query<Applied>(appliedMigrationsSql)
    const pending = missing(rows, migrationsIn(folder))
    for (const { name, hash } of pending) {
      await runFile(connection, folder, `${name}.sql`)
      await connection.query(
        'INSERT INTO pgmigrations (name, run_on, hash) VALUES ($1, now(), $2)',
        [name, hash]
      )
    }
    if (role !== undefined)
      await runFile(connection, folder, 'grants.sql', role)
    await connection.query('COMMIT')

    for (const { name } of pending) log.info({ migration: name }, 'migrated')
  } finally {
    connection.release(true)
  }
}

/** Runs a file as psql would with `-v role=…`. */
async function runFile(
  connection: ClientBase,
  folder: URL,
  file: string,
  role = ''
): Promise<void> {
  const identifier = pg.escapeIdentifier(role)
  try {
    const text = readFileSync(new URL(file, folder), 'utf8')
    await connection.query(text.replaceAll(':"role"', () => identifier))
  } catch (error) {
    throw new Error(`${file} failed: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * The migrations in a folder, in their order: all its SQL but `grants.sql`.
 *
 * @throws Error if one has another name than `0001_words.sql`
 */
function migrationsIn(folder: URL): Migration[] {
  const files = readdirSync(folder).filter(
    (file) => file.endsWith('.sql') && file !== 'grants.sql'
  )
  const other = files.find((file) => !/^\d{4}_\w+\.sql$/.test(file))
  if (other !== undefined)
    throw new Error(`the migration ${other} must be called 0001_words.sql`)

  return files.sort().map((file) => ({
    name: file.replace('.sql', ''),
    hash: hashOf(readFileSync(new URL(file, folder), 'utf8'))
  }))
}

/** A checkout on Windows may have CRLF. */
const hashOf = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')

/**
 * The migrations that are not applied yet.
 *
 * @throws Error if the file of an applied migration has changed
 */
function missing(applied: Applied[], migrations: Migration[]): Migration[] {
  const hashes = new Map(applied.map(({ name, hash }) => [name, hash]))
  const changed = migrations.filter(
    ({ name, hash }) => (hashes.get(name) ?? hash) !== hash
  )
  if (changed.length > 0) {
    const names = changed.map(({ name }) => name).join(', ')
    throw new Error(
      `applied migrations have changed (${names}): ` +
        'restore their files, or copy the data to a new database'
    )
  }
  return migrations.filter(({ name }) => !hashes.has(name))
}

/**
 * Reads the folder, and returns a function that finds the names of the
 * migrations that the database lacks. It throws like `missing`. Waiting callers
 * share a statement: /readyz needs no API key, and must not occupy connections.
 */
export function pendingMigrationsFinder(
  database: Database,
  folder: URL
): () => Promise<string[]> {
  const migrations = migrationsIn(folder)
  const statement = database.prepare('applied-migrations', appliedMigrationsSql)

  return sharedCall(async () => {
    const applied = await hedged(() =>
      database.run<Applied>('internal', statement)
    ).catch((error: unknown) => {
      // Without the table, there was none. Without the privilege to read it,
      // the migrations, which grant it, are tried again. The SQLSTATE would
      // also be that of a role that must not connect.
      if (messageOf(error).includes('pgmigrations')) return []
      throw error
    })
    const pending = missing(applied, migrations)
    database.metrics.pendingMigrations.set(pending.length)
    return pending.map(({ name }) => name)
  })
}

/** @throws Error if migrations are pending, or the database does not respond */
export async function requireMigrations(
  findPending: () => Promise<string[]>
): Promise<void> {
  const pending = await findPending()
  if (pending.length > 0) {
    throw new Error(
      `migrations are pending (${pending.join(', ')}): run \`npm run migrate\``
    )
  }
}
