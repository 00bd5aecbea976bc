import pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { type Database, openDatabase } from './database.ts'
import { type EmbeddedPostgres, findRunning, startEmbeddedPostgres } from './embedded.ts'
import { migrate, migrateWhenPossible } from './migrations.ts'

export interface OpenOptions {
  /** Whether a server that another process runs on DATA_DIR will do. */
  share: boolean
  /** Whether to run the migrations. */
  migrate: boolean
  /** Whether that may be as soon as the database can be reached; else it is done first, or fails. */
  wait: boolean
}

/** The database of the configuration; `isEmbedded` when it is not a given DATABASE_URL. */
export interface OpenedDatabase extends Database {
  isEmbedded: boolean
}

/** Opens the database that the configuration names: DATABASE_URL, or else the embedded Postgres in DATA_DIR, which it starts. */
export async function openConfigured(
  config: Pick<
    Config,
    'DATABASE_URL' | 'DATA_DIR' | 'DATABASE_POOL_SIZE' | 'DATABASE_TIMEOUT' | 'DATABASE_SERVICE_ROLE'
  >,
  options: OpenOptions,
  log: Logger
): Promise<OpenedDatabase> {
  const server = await findServer(config, options.share, log)
  try {
    const { DATABASE_POOL_SIZE: poolSize, DATABASE_TIMEOUT: timeout, DATABASE_SERVICE_ROLE: serviceRole } = config
    const { url } = server
    if (options.migrate && !options.wait) await migrate({ url, timeout, serviceRole }, log)
    const closing = new AbortController()
    const migrated =
      options.migrate && options.wait
        ? migrateWhenPossible({ url, timeout, serviceRole }, log, closing.signal)
        : undefined
    const database = openDatabase({ url, poolSize, timeout }, log)
    return {
      ...database,
      isEmbedded: config.DATABASE_URL === undefined,
      async close() {
        closing.abort()
        await migrated
        await database.close()
        await server.stop()
      }
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** The server to use; `stop` ends it when it is ours. */
async function findServer(
  { DATABASE_URL, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  share: boolean,
  log: Logger
): Promise<EmbeddedPostgres> {
  if (DATABASE_URL !== undefined) checkUrl(DATABASE_URL)
  const url = DATABASE_URL ?? (share ? await findRunning(DATA_DIR) : undefined)
  return url === undefined ? startEmbeddedPostgres(DATA_DIR, log) : { url, stop: () => Promise.resolve() }
}

/** Throws when pg cannot use the URL, or a file of certificates in it: no waiting would mend that. */
function checkUrl(url: string): void {
  try {
    new pg.Client({ connectionString: url })
  } catch (error) {
    throw new Error(`DATABASE_URL cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
