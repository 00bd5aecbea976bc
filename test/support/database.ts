import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import type { Test } from 'tap'
import { Metrics } from '../../src/metrics.ts'
import { Database } from '../../src/postgres/database.ts'
import { applyMigrations } from '../../src/postgres/migrations.ts'
import { until } from './until.ts'

/**
 * The log of tests that do not look at the log: without output, unless
 * TEST_LOG_LEVEL is set. It writes to stderr, because tap reads stdout.
 */
export const testLog = pino(
  { level: process.env['TEST_LOG_LEVEL'] ?? 'silent' },
  pino.destination(2)
)

/** The options of CREATE DATABASE for a database without tables. */
export const emptyDatabaseOptions =
  "TEMPLATE template0 STRATEGY file_copy ENCODING 'UTF8'"

/** A name of a database or role that no other test uses. */
const uniqueName = () => `petcat_test_${randomBytes(6).toString('hex')}`

/** The URL of another database on the server. */
export const urlOf = (server: string, name: string): string =>
  Object.assign(new URL(server), { pathname: `/${name}` }).href

/** Migrates the database at `url`. */
export const migrate = (url: string): Promise<void> =>
  applyMigrations(url, testLog)

/** Makes a folder that is removed when the test ends. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  t.teardown(() =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  )
  return folder
}

/** A variable that test/run-tests.ts sets for the tests. */
export function requiredVariable(name: string): string {
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
  options = `TEMPLATE ${requiredVariable('TEST_TEMPLATE_DATABASE')} STRATEGY file_copy`
): Promise<string> {
  const server = requiredVariable('TEST_SERVER_URL')
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

/**
 * Ends the service's statements that run now, such as by `pg_cancel_backend`.
 * Returns their number.
 */
export const endStatements = async (url: string, by: string) =>
  (
    await query(
      url,
      `SELECT ${by}(pid)
       FROM pg_stat_activity
       WHERE application_name = 'pet-categories'
         AND datname = current_database()
         AND state = 'active'`
    )
  ).length

/** The ids and names of all categories, in the order of their ids. */
export const storedCategories = (url: string) =>
  query(url, 'SELECT id, name FROM categories ORDER BY id')

/** The names of all categories, in the order of their ids. */
export const storedNames = async (url: string) =>
  (await storedCategories(url)).map(({ name }) => String(name))

/** Connects a client, and disconnects it when the test ends. */
export async function connect(t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  // A lost connection also rejects its queries.
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Opens the database as the service does, and closes it when the test ends. */
export function openDatabase(t: Test, url: string, timeoutMs = 5000): Database {
  const config = { DATABASE_TIMEOUT_MS: timeoutMs }
  const database = new Database(url, config, testLog, new Metrics())
  t.teardown(() => database.close())
  return database
}

/**
 * Runs statements in a transaction that stays open until `commit`, `rollBack`, or
 * the end of the test.
 */
export async function beginTransaction(
  t: Test,
  url: string,
  statements: string
) {
  const client = await connect(t, url)
  await client.query(`BEGIN; ${statements}`)
  return {
    commit: () => client.query('COMMIT'),
    rollBack: () => client.end()
  }
}

/** Locks a table. */
export const lockTable = (t: Test, url: string, table: string) =>
  beginTransaction(t, url, `LOCK TABLE ${table}`)

/**
 * Makes the function `gate`, at which a statement of the service waits while
 * another session has locked a number. It does not wait for the lock, which
 * would be an error after lock_timeout.
 */
export const createGate = (url: string) =>
  query(
    url,
    `CREATE FUNCTION gate(number int) RETURNS void LANGUAGE plpgsql AS '
       BEGIN
         WHILE NOT pg_try_advisory_xact_lock_shared(number) LOOP
           PERFORM pg_sleep(0.01);
         END LOOP;
       END'`
  )

/** Closes gates. */
export async function closeGates(t: Test, url: string, numbers: number[]) {
  const client = await connect(t, url)
  const run = (name: string, number: number) =>
    client.query(`SELECT ${name}(${number})`)
  for (const number of numbers) await run('pg_advisory_lock', number)
  return { open: (number: number) => run('pg_advisory_unlock', number) }
}

/** Resolves when this many statements wait at gates. */
export const waitForGateWaiters = (url: string, count: number) =>
  until(async () => {
    const rows = await query(
      url,
      `SELECT FROM pg_stat_activity
         WHERE wait_event = 'PgSleep' AND datname = current_database()`
    )
    return rows.length === count
  }, `${count} statements wait at gates`)

/** Resolves when at least this many statements wait for locks. */
export const waitForLockWaiters = (url: string, count = 1) =>
  until(async () => {
    const rows = await query(
      url,
      `SELECT FROM pg_stat_activity
       WHERE wait_event_type = 'Lock' AND datname = current_database()`
    )
    return rows.length >= count
  }, `${count} statements wait for locks`)
