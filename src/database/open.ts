import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { type Database, openDatabase } from './database.ts'
import { findRunning, startEmbeddedPostgres } from './embedded.ts'
import { migrate } from './migrations.ts'

export interface OpenOptions {
  /** Whether a server that another process runs on DATA_DIR will do. */
  share: boolean
  /** Whether to run the migrations first. */
  migrate: boolean
}

/** The database of the configuration; `isEmbedded` when it is not a given DATABASE_URL. */
export interface OpenedDatabase extends Database {
  isEmbedded: boolean
}

/** Opens the database that the configuration names: DATABASE_URL, or else the embedded Postgres in DATA_DIR, which it starts. */
export async function openConfigured(
  config: Pick<Config, 'DATABASE_URL' | 'DATA_DIR' | 'DATABASE_POOL_SIZE' | 'DATABASE_TIMEOUT'>,
  options: OpenOptions,
  log: Logger
): Promise<OpenedDatabase> {
  const given = config.DATABASE_URL ?? (options.share ? await findRunning(config.DATA_DIR) : undefined)
  const embedded = given === undefined ? await startEmbeddedPostgres(config.DATA_DIR, log) : undefined
  const url = given ?? embedded?.url ?? ''
  try {
    if (options.migrate) await migrate(url, config.DATABASE_TIMEOUT, log)
    const database = openDatabase({ url, poolSize: config.DATABASE_POOL_SIZE, timeout: config.DATABASE_TIMEOUT }, log)
    return {
      ...database,
      isEmbedded: config.DATABASE_URL === undefined,
      async close() {
        await database.close()
        await embedded?.stop()
      }
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}
