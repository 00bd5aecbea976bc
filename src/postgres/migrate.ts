import { readdirSync, readFileSync } from 'node:fs'
import pg, { type ClientBase } from 'pg'
import type { Logger } from 'pino'
import { serviceName } from '../../generated/names.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../log.ts'
import type { Database } from './database.ts'
import { meaningOf, Unavailable } from './outcomes.ts'
import { PrimaryPool } from './primary-pool.ts'
import { sql } from './sql.ts'

const directory = new URL('../../migrations/', import.meta.url)

/** The names of all migrations; other files, as of editors, are ignored. */
const migrations = readdirSync(directory)
  .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
  .map((file) => file.replace(/\.sql$/, ''))

/**
 * The advisory lock of a migration. The lock and the table pgmigrations are
 * those of node-pg-migrate, which earlier versions used.
 */
const migrationLock = '7241865325823964'

const begin = sql`
  BEGIN ISOLATION LEVEL READ COMMITTED;

  SELECT pg_advisory_xact_lock(${migrationLock});

  DO $$ BEGIN
    -- In another encoding PostgreSQL rejects or changes text that the OpenAPI
    -- document allows.
    IF current_setting('server_encoding') <> 'UTF8' THEN
      RAISE 'the database must be encoded in UTF8, not %: create one with ENCODING ''UTF8''',
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

const pendingMigrations = {
  name: 'pending-migrations',
  text: sql`
    SELECT name
    FROM unnest($1::text[]) AS name
    EXCEPT
    SELECT name
    FROM pgmigrations
    ORDER BY name
  `,
  values: [migrations]
}

/** Privileges by table, sequence or function: `{ pets: 'SELECT, INSERT' }`. */
type Privileges = Record<string, string>

type MigrationConfig = Pick<
  Config,
  'DATABASE_TIMEOUT_MS' | 'DATABASE_SERVICE_ROLE'
>

/**
 * Applies the pending migrations and grants the privileges to
 * DATABASE_SERVICE_ROLE, in one transaction. Concurrent calls wait for each
 * other.
 *
 * @param privileges of the role, which loses all others on these objects
 * @throws Error when the database cannot be reached, is not encoded in UTF-8,
 *   or rejects a statement
 */
export async function applyMigrations(
  url: string,
  config: MigrationConfig,
  privileges: Privileges,
  log: Logger
): Promise<void> {
  const pool = new PrimaryPool(url, config.DATABASE_TIMEOUT_MS, {
    application_name: `${serviceName} migrate`
  })
  const client = await pool.connect()
  try {
    await client.query(begin)
    const applied = await applyPending(client)

    const role = config.DATABASE_SERVICE_ROLE
    if (role !== undefined) await grant(client, role, privileges)

    await client.query('COMMIT')
    for (const name of applied) log.info({ migration: name }, 'migrated')
  } finally {
    client.release(true)
    await pool.end()
  }
}

/** Returns the names of the migrations that it applied. */
async function applyPending(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(pendingMigrations)
  const names = rows.map(({ name }) => name)

  for (const name of names) {
    await applyMigration(client, name)
    await client.query(
      'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
      [name]
    )
  }
  return names
}

async function applyMigration(client: ClientBase, name: string): Promise<void> {
  const statements = readFileSync(new URL(`${name}.sql`, directory), 'utf8')
  try {
    await client.query(statements)
  } catch (error) {
    const message = `migration ${name} failed: ${messageOf(error)}`
    throw new Error(message, { cause: error })
  }
}

async function grant(
  client: ClientBase,
  roleName: string,
  privileges: Privileges
): Promise<void> {
  const role = pg.escapeIdentifier(roleName)
  const all = { ...privileges, pgmigrations: 'SELECT' }

  for (const [object, granted] of Object.entries(all)) {
    await client.query(`REVOKE ALL ON ${object} FROM ${role}`)
    await client.query(`GRANT ${granted} ON ${object} TO ${role}`)
  }
}

/**
 * Returns a check that throws unless the database responds and has every
 * migration. Concurrent callers share a query, so that /readyz, which needs no
 * key, cannot occupy the pool.
 */
export function migrationCheck(
  database: Pick<Database, 'read'>
): () => Promise<void> {
  let running: Promise<void> | undefined

  return () => {
    running ??= checkMigrations(database).finally(() => {
      running = undefined
    })
    return running
  }
}

async function checkMigrations(
  database: Pick<Database, 'read'>
): Promise<void> {
  const names = await namesOfPending(database)
  if (names.length === 0) return

  const list = names.join(', ')
  throw new Error(`migrations are pending (${list}): run \`npm run migrate\``)
}

async function namesOfPending(
  database: Pick<Database, 'read'>
): Promise<string[]> {
  try {
    const rows = await database.read<{ name: string }>(pendingMigrations)
    return rows.map(({ name }) => name)
  } catch (error) {
    // Without the table, or the privilege to read it, there was no migration.
    const isUntouched =
      error instanceof Unavailable && meaningOf(error.cause) === 'schema'
    if (isUntouched) return migrations
    throw error
  }
}
