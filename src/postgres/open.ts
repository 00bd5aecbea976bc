import pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { type Database, openDatabase } from './database.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/embedded.ts'
import { checkMigrated, migrate } from './migrations.ts'
import { whenPossible } from './retry.ts'

/** Who opens the database: the service, or one of the commands. */
export type Opener = 'service' | 'keys' | 'migrate'

/** The database of the configuration; `isEmbedded` when it is not a given DATABASE_URL. */
export interface OpenedDatabase extends Database {
  isEmbedded: boolean
}

/**
 * Opens the database that the configuration names: DATABASE_URL, or else the embedded Postgres in DATA_DIR, which it starts.
 * It is migrated then, but for a given one by the keys command; the service does not wait for a given one.
 *
 * @param signal ends the start at once
 * @throws Error when the database cannot be opened or migrated, or `signal` is aborted
 */
export async function openConfigured(
  config: OpenConfig,
  opener: Opener,
  log: Logger,
  signal = new AbortController().signal
): Promise<OpenedDatabase> {
  const isEmbedded = config.DATABASE_URL === undefined
  const server = await findServer(config, opener === 'service' ? 'service' : 'command', log, signal)
  const closing = new AbortController()
  try {
    const { DATABASE_POOL_SIZE: poolSize, DATABASE_TIMEOUT: timeout, DATABASE_SERVICE_ROLE: serviceRole } = config
    const { url } = server
    const mayMigrate = opener === 'migrate' || (config.MIGRATE_ON_START && (isEmbedded || opener === 'service'))
    const migration = { url, timeout, serviceRole, signal: AbortSignal.any([signal, closing.signal]) }
    const prepare = () => (mayMigrate ? migrate(migration, log) : checkMigrated(migration))
    // Our own Postgres is there or will never be; a given one may come later.
    const isPatient = opener === 'service' && !isEmbedded
    if (!isPatient) await prepare()
    const prepared = isPatient ? whenPossible(prepare, log, migration.signal) : undefined
    const database = openDatabase({ url, poolSize, timeout }, log)
    return {
      ...database,
      isEmbedded,
      async close() {
        closing.abort()
        await prepared
        await database.close()
        await server.stop()
      }
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

type OpenConfig = Pick<
  Config,
  'DATABASE_URL' | 'DATA_DIR' | 'DATABASE_POOL_SIZE' | 'DATABASE_TIMEOUT' | 'DATABASE_SERVICE_ROLE' | 'MIGRATE_ON_START'
>

/** The server to use; `stop` ends it when it is ours. */
async function findServer(
  { DATABASE_URL: url, DATA_DIR }: OpenConfig,
  startedBy: 'service' | 'command',
  log: Logger,
  signal: AbortSignal
): Promise<EmbeddedPostgres> {
  if (url === undefined) return startEmbeddedPostgres(DATA_DIR, log, { startedBy, signal })
  checkUrl(url)
  return { url, stop: () => Promise.resolve() }
}

/** Throws when pg cannot use the URL, or a file of certificates in it: no retry would fix that. */
function checkUrl(url: string): void {
  try {
    new pg.Client({ connectionString: url })
  } catch (error) {
    throw new Error(`DATABASE_URL cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
