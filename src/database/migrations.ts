import { readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import type { Logger } from 'pino'
import { oneLine } from '../fail.ts'
import { batch } from './batch.ts'
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
}

/**
 * Brings the database up to the newest migration, each file once, all in one transaction. Runs of several processes wait for
 * each other.
 *
 * @throws Error when the database cannot be reached, does not keep UTF-8, or a migration fails; nothing is changed then
 */
export async function migrate({ url, timeout, serviceRole }: MigrationOptions, log: Logger): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeout,
    application_name: 'pet-categories migrate'
  })
  await client.connect()
  try {
    const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
    const encoding = rows[0]?.server_encoding
    // In another encoding Postgres would refuse, or change, text that the document allows.
    if (encoding !== 'UTF8') throw new Error(`The database must be encoded in UTF8, not ${encoding}`)
    const done = await runner({
      dbClient: client,
      dir: directory,
      direction: 'up',
      migrationsTable,
      advisoryLockMode: 'wait',
      logger: { info: log.debug.bind(log), warn: log.warn.bind(log), error: log.error.bind(log) }
    })
    for (const { name } of done) log.info({ migration: name }, 'migrated')
    if (serviceRole !== undefined) await grantService(client, serviceRole)
  } finally {
    await client.end()
  }
}

/** Milliseconds between two attempts: the first, which each further one doubles, and the most. */
const backOff = { first: 250, most: 5000 }

/**
 * Migrates as soon as the database can be, and tries again until then. It is logged when that fails, once for each reason, and
 * when it was done after all.
 */
export async function migrateWhenPossible(options: MigrationOptions, log: Logger, signal: AbortSignal): Promise<void> {
  let reason: string | undefined
  for (let delay = backOff.first; !signal.aborted; delay = Math.min(delay * 2, backOff.most)) {
    try {
      await migrate(options, log)
      if (reason !== undefined) log.info('the database is ready')
      return
    } catch (error) {
      const message = oneLine(error)
      if (message !== reason) log.error({ err: error }, 'the database is not ready; trying again')
      reason = message
      await setTimeout(delay, undefined, { signal }).catch(() => {})
    }
  }
}

/**
 * A check that the database answers and has had every migration; it throws otherwise. Callers who check at the same time
 * share one query.
 */
export function migrationCheck(database: Database): () => Promise<void> {
  const all = readdirSync(directory).map((file) => file.replace(/\.sql$/, ''))
  const query = {
    name: 'pending-migrations',
    text: `SELECT name FROM unnest($1::text[]) AS name EXCEPT SELECT name FROM ${migrationsTable}`,
    values: [all]
  }
  const check = batch(
    async (callers: undefined[]) => {
      const pending = await database.read<{ name: string }>(query)
      if (pending.length > 0) throw new Error(`migrations are pending: ${pending.map(({ name }) => name).join(', ')}`)
      return callers
    },
    { maxWaiting: 1000 }
  )
  return () => check(undefined)
}
