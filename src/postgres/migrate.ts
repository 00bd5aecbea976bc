import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import type { Logger } from 'pino'
import { type Config, serviceName } from '../config.ts'
import { oneLine } from '../log.ts'
import { createPool } from './primary-pool.ts'
import type { Database } from './database.ts'
import { meaningOf } from './outcomes.ts'

const directory = new URL('../../migrations/', import.meta.url)

/** The advisory lock of a migration. It and the table are those of node-pg-migrate, which earlier versions used. */
const migrationLock = 7241865325823964n

const begin = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SELECT pg_advisory_xact_lock(${migrationLock});
  DO $$ BEGIN
    -- In another encoding PostgreSQL rejects or changes text that the OpenAPI document allows.
    IF current_setting('server_encoding') <> 'UTF8' THEN
      RAISE 'the database must be encoded in UTF8, not %: create one with ENCODING ''UTF8''',
        current_setting('server_encoding');
    END IF;
    -- IF NOT EXISTS needs the privilege to create tables even when the table exists.
    IF to_regclass('pgmigrations') IS NULL THEN
      CREATE TABLE pgmigrations (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL);
    END IF;
  END $$`

const all = readdirSync(directory).map((file) => file.replace(/\.sql$/, ''))
const pendingMigrations = {
  name: 'pending-migrations',
  text: 'SELECT name FROM unnest($1::text[]) AS name EXCEPT SELECT name FROM pgmigrations ORDER BY name',
  values: [all]
}

/**
 * Applies the pending migrations and grants the privileges to DATABASE_SERVICE_ROLE, in one transaction. Concurrent calls wait
 * for each other.
 *
 * @param privileges by table, sequence or function: `{ messages: 'SELECT, INSERT' }`; the role loses all others on these
 * @throws Error when the database cannot be reached, is not encoded in UTF-8, or rejects a statement
 */
export async function applyMigrations(
  url: string,
  {
    DATABASE_TIMEOUT_MS,
    DATABASE_SERVICE_ROLE
  }: Pick<Config, 'DATABASE_TIMEOUT_MS' | 'DATABASE_SERVICE_ROLE'>,
  privileges: Record<string, string>,
  log: Logger
): Promise<void> {
  const pool = createPool(url, DATABASE_TIMEOUT_MS, {
    application_name: `${serviceName} migrate`
  })
  const client = await pool.connect()
  try {
    await client.query(begin)
    const { rows: pending } = await client.query<{ name: string }>(
      pendingMigrations
    )
    for (const { name } of pending) {
      const sql = readFileSync(new URL(`${name}.sql`, directory), 'utf8')
      await client.query(sql).catch((error: unknown) => {
        throw new Error(`migration ${name} failed: ${oneLine(error)}`, {
          cause: error
        })
      })
      await client.query(
        'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
        [name]
      )
    }
    if (DATABASE_SERVICE_ROLE !== undefined) {
      const role = pg.escapeIdentifier(DATABASE_SERVICE_ROLE)
      for (const [object, granted] of Object.entries({
        ...privileges,
        pgmigrations: 'SELECT'
      }))
        await client.query(
          `REVOKE ALL ON ${object} FROM ${role}; GRANT ${granted} ON ${object} TO ${role}`
        )
    }
    await client.query('COMMIT')
    for (const { name } of pending) log.info({ migration: name }, 'migrated')
  } finally {
    client.release(true)
    await pool.end()
  }
}

/**
 * Returns a check that throws unless the database responds and has every migration. Concurrent callers share a query, so
 * that /readyz, which needs no key, cannot occupy the pool.
 */
export function migrationCheck(
  database: Pick<Database, 'read'>
): () => Promise<void> {
  const check = async () => {
    const rows = await database
      .read<{ name: string }>(pendingMigrations)
      .catch((error: Error) => {
        // Without the table, or the privilege to read it, there was no migration.
        if (meaningOf(error.cause) === 'schema')
          return all.map((name) => ({ name }))
        throw error
      })
    const names = rows.map(({ name }) => name).join(', ')
    if (names !== '')
      throw new Error(
        `migrations are pending (${names}): run \`npm run migrate\``
      )
  }
  let running: Promise<void> | undefined
  return () => (running ??= check().finally(() => (running = undefined)))
}
