import { readdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import type { Logger } from 'pino'
import { oneLine } from '../log.ts'
import { batch } from '../batch.ts'
import type { Database } from './database.ts'
import { grantService } from './grants.ts'

const directory = fileURLToPath(new URL('../../migrations', import.meta.url))
const migrationsTable = 'pgmigrations'

export interface MigrationOptions {
  url: string
  /** Milliseconds to connect in. */
  timeout: number
  /** The role that is allowed what the service needs, when that is not the one of the url. */
  serviceRole?: string | undefined
  /** Ends the work at once, whatever it waits for. */
  signal?: AbortSignal
}

/**
 * Brings the database up to the newest migration, each file once, all in one transaction. Runs of several processes wait for
 * each other.
 *
 * @throws Error when the database cannot be reached, does not keep UTF-8, or a migration fails; nothing is changed then
 */
export function migrate(options: MigrationOptions, log: Logger): Promise<void> {
  return connected(options, async (client) => {
    const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
    const encoding = rows[0]?.server_encoding
    // In another encoding Postgres would reject, or change, text that the OpenAPI document allows.
    if (encoding !== 'UTF8') {
      throw new Error(`the database must be encoded in UTF8, not ${encoding}: create one with ENCODING 'UTF8'`)
    }
    let current = 'the migrations'
    const debug = (line: string) => {
      const [, name] = /MIGRATION (\S+)/.exec(line) ?? []
      if (name !== undefined) current = `migration ${name}`
      log.debug(line)
    }
    try {
      const done = await runner({
        dbClient: client,
        dir: directory,
        direction: 'up',
        migrationsTable,
        advisoryLockMode: 'wait',
        singleTransaction: true,
        // An error is thrown too.
        logger: { info: debug, warn: debug, error: debug }
      })
      for (const { name } of done) log.info({ migration: name }, 'migrated')
    } catch (error) {
      throw new Error(`${current} failed: ${oneLine(error)}`, { cause: error })
    }
    if (options.serviceRole !== undefined) await grantService(client, options.serviceRole)
  })
}

/**
 * Changes nothing.
 *
 * @throws Error when the database cannot be reached, or has not had every migration
 */
export function checkMigrated(options: MigrationOptions): Promise<void> {
  return connected(options, async (client) => {
    rejectPending(await pendingMigrations(async (query) => (await client.query<{ name: string }>(query)).rows))
  })
}

/** Runs the work on a separate connection. */
async function connected(
  { url, timeout, signal }: MigrationOptions,
  work: (client: pg.Client) => Promise<void>
): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeout,
    application_name: 'pet-categories migrate',
    stream: () => new Socket({ signal })
  })
  // A lost connection fails what is under way.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw new Error(`cannot connect with DATABASE_URL: ${oneLine(error)}`, { cause: error })
  }
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/**
 * A check that the database responds and has had every migration; it throws otherwise. Callers who check at the same time
 * share one query.
 */
export function migrationCheck(database: Database): () => Promise<void> {
  const check = batch(
    async (callers: undefined[]) => {
      rejectPending(await pendingMigrations((query) => database.read<{ name: string }>(query)))
      return callers
    },
    { maxWaiting: 1000 }
  )
  return () => check(undefined)
}

const all = readdirSync(directory).map((file) => file.replace(/\.sql$/, ''))
const pendingQuery = {
  name: 'pending-migrations',
  text: `SELECT name FROM unnest($1::text[]) AS name EXCEPT SELECT name FROM ${migrationsTable} ORDER BY name`,
  values: [all]
}

async function pendingMigrations(read: (query: typeof pendingQuery) => Promise<{ name: string }[]>): Promise<string[]> {
  try {
    return (await read(pendingQuery)).map(({ name }) => name)
  } catch (error) {
    // Without the table there was no migration.
    if ((error as pg.DatabaseError).code === '42P01') return all
    throw error
  }
}

function rejectPending(names: string[]): void {
  if (names.length > 0) throw new Error(`migrations are pending (${names.join(', ')}): run \`npm run migrate\``)
}
