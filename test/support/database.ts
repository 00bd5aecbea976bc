import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import type { Test } from 'tap'
import { Metrics } from '../../src/framework/metrics.ts'
import { Database } from '../../src/framework/postgres/database.ts'
import { applyMigrations } from '../../src/framework/postgres/migrate.ts'
import { api } from '../../src/handlers/index.ts'
import { api as notes } from './notes/api.ts'
import { until } from './until.ts'

/**
 * The log of tests that do not look at the log: without output, unless
 * TEST_LOG_LEVEL is set. It writes to stderr, because tap reads stdout.
 */
export const silent = pino(
  { level: process.env['TEST_LOG_LEVEL'] ?? 'silent' },
  pino.destination(2)
)

/** The options of CREATE DATABASE for a database without tables. */
export const empty = "TEMPLATE template0 ENCODING 'UTF8'"

/** A name of a database or role that no other test uses. */
const uniqueName = () => `petcat_test_${randomBytes(6).toString('hex')}`

/** The URL of another database on the server. */
export const urlOf = (server: string, name: string): string =>
  Object.assign(new URL(server), { pathname: `/${name}` }).href

/**
 * Migrates the database at `url`.
 *
 * @param folders by default, those of this repository's API and of the notes
 */
export async function migrate(
  url: string,
  role: { DATABASE_SERVICE_ROLE?: string } = {},
  folders = [api.migrationsFolder, notes.migrationsFolder]
): Promise<void> {
  const config = { DATABASE_TIMEOUT_MS: 5000, ...role }
  for (const folder of folders)
    await applyMigrations(url, config, folder, silent)
}

/** Makes a folder in memory, unlike t.testdir(), until the test ends. */
export function temporaryFolder(t: Test): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  t.teardown(() =>
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  )
  return directory
}

/**
 * Puts new data of an embedded PostgreSQL into a data folder, several times
 * faster than initdb.
 */
export function copyData(directory: string): void {
  mkdirSync(directory, { recursive: true })
  execFileSync('cp', ['-a', environment('TEST_DATA'), directory])
}

/** A variable that test/run.ts sets for the tests. */
function environment(name: string): string {
  const value = process.env[name]
  if (value === undefined)
    throw new Error(`${name} is not set: run the tests by npm test`)
  return value
}

/**
 * Creates a database for the test, which is dropped when the test ends.
 *
 * @param options of CREATE DATABASE; by default it copies the migrated one
 */
export async function createDatabase(
  t: Test,
  options = `TEMPLATE ${environment('TEST_TEMPLATE')} STRATEGY wal_log`
): Promise<string> {
  const server = environment('TEST_SERVER')
  const name = uniqueName()
  await query(server, `CREATE DATABASE ${name} ${options}`)
  t.teardown(() => query(server, `DROP DATABASE ${name} WITH (FORCE)`))
  return urlOf(server, name)
}

/** Runs one statement on the database at `url`, without the service. */
export async function query(
  url: string,
  sql: string,
  values: unknown[] = []
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  // A lost connection also rejects the query.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** Connects a client, and disconnects it when the test ends. */
export async function connect(t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Opens the database as the service does, and closes it when the test ends. */
export function openDatabase(t: Test, url: string, timeout = 5000): Database {
  const database = new Database(
    url,
    { DATABASE_TIMEOUT_MS: timeout },
    silent,
    new Metrics(),
    notes.names.service
  )
  t.teardown(() => database.close())

  return database
}

/**
 * Runs statements in a transaction that stays open until `commit`, until
 * `release`, which rolls it back, or until the test ends.
 */
export async function begin(t: Test, url: string, statements: string) {
  const client = await connect(t, url)
  await client.query(`BEGIN; ${statements}`)
  return {
    commit: () => client.query('COMMIT'),
    release: () => client.end()
  }
}

/** Locks a table. */
export const lockTable = (t: Test, url: string, table: string) =>
  begin(t, url, `LOCK TABLE ${table}`)

/**
 * Forgets the idempotency keys, and holds them, as a replica does whose commit
 * has not ended.
 */
export const holdKeys = (t: Test, url: string) =>
  begin(
    t,
    url,
    `CREATE TEMPORARY TABLE held AS TABLE idempotency_keys;
     DELETE FROM idempotency_keys;
     COMMIT;
     BEGIN;
     INSERT INTO idempotency_keys TABLE held`
  )

/** The number of the statements that wait for a lock. */
export async function lockWaits(url: string): Promise<number> {
  const rows = await query(
    url,
    `SELECT
     FROM pg_stat_activity
     WHERE wait_event_type = 'Lock' AND datname = current_database()`
  )

  return rows.length
}

/** Resolves when at least this many statements wait for locks. */
export const lockAwaited = (url: string, count = 1) =>
  until(
    async () => (await lockWaits(url)) >= count,
    `${count} statements wait for locks`
  )

/** The URL of a database for another role, whose password is `secret`. */
const urlAs = (url: string, role: string): string =>
  Object.assign(new URL(url), { username: role, password: 'secret' }).href

/**
 * A database whose tables belong to `owner`. The role of the service has the
 * privileges that the migrations grant.
 *
 * @returns the URL of the database for each role
 */
export async function createRoles(
  t: Test
): Promise<{ owner: string; service: string }> {
  const owner = uniqueName()
  const service = uniqueName()
  const server = environment('TEST_SERVER')
  t.teardown(() => query(server, `DROP ROLE ${owner}, ${service}`))

  for (const role of [owner, service])
    await query(server, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)

  const url = await createDatabase(t, `${empty} OWNER ${owner}`)
  const role = { DATABASE_SERVICE_ROLE: service }
  await migrate(urlAs(url, owner), role, [api.migrationsFolder])

  return { owner: urlAs(url, owner), service: urlAs(url, service) }
}
