import type { Logger } from 'pino'
import type { Api } from './api.ts'
import { type Config, readText } from './config.ts'
import type { EmbeddedServer } from './embedded/server.ts'
import { isWellFormedKey } from './keys/key.ts'
import { ApiKeyStore } from './keys/store.ts'
import { messageOf } from './message-of.ts'
import type { Metrics } from './metrics.ts'
import { Database } from './postgres/database.ts'
import {
  applyMigrations,
  pendingMigrationsFinder,
  requireMigrations
} from './postgres/migrate.ts'
import { reportWait, retry } from './retry.ts'

/**
 * The database of the configuration. Its functions reject with an error of one
 * line.
 */
export interface OpenedDatabase {
  database: Database
  /** Resolves with the reason when the embedded PostgreSQL ends by itself. */
  crash: EmbeddedServer['crash']
  /** Returns the names of the migrations that the database lacks. */
  findPending: () => Promise<string[]>
  /** Rejects unless the database responds and has every migration. */
  checkReady: () => Promise<void>
  /** Applies the pending migrations. */
  migrate: () => Promise<void>
  /** Stores the key of FIRST_API_KEY_FILE, if there is no other. */
  createFirstKey: () => Promise<void>
  /** Closes every connection, and stops the embedded PostgreSQL. */
  closeDatabase: () => Promise<void>
}

/**
 * Opens DATABASE_URL, or else the embedded PostgreSQL.
 *
 * @param options.mayShare whether the embedded PostgreSQL of another process
 *   will do, as for a command
 * @throws Error if the URL, DATA_DIR or FIRST_API_KEY_FILE can never be used.
 *   The process must end then, which also stops the embedded PostgreSQL.
 */
export async function openDatabase(
  config: Config,
  { migrationsFolder, names }: Api,
  log: Logger,
  metrics: Metrics,
  { mayShare }: { mayShare: boolean }
): Promise<OpenedDatabase> {
  const firstKey = readFirstKey(config, names.apiKeyPrefix)
  const { url, stop, crash } = await databaseServer(config, log, mayShare)
  const database = await explainFailure(
    () => new Database(url, config, log, metrics, names.service)
  )
  const findPending = pendingMigrationsFinder(database, migrationsFolder)
  const checkReady = () => explainFailure(() => requireMigrations(findPending))
  const migrate = () =>
    reportWait(
      'the migrations, or for another process that migrates',
      explainFailure(() => applyMigrations(url, config, migrationsFolder, log))
    )

  return {
    database,
    crash,
    checkReady,
    findPending: () => explainFailure(findPending),
    migrate,
    createFirstKey: async () => {
      const keys = new ApiKeyStore(database, names.apiKeyPrefix, log)
      if (firstKey !== undefined) await keys.createFirst(firstKey)
    },
    closeDatabase: async () => {
      await database.close()
      await stop()
    }
  }
}

/** @throws Error without the text of the file */
function readFirstKey(
  { FIRST_API_KEY_FILE: file }: Config,
  apiKeyPrefix: string
): string | undefined {
  if (file === undefined) return undefined
  const apiKey = readText(file, 'FIRST_API_KEY_FILE').trim()
  if (isWellFormedKey(apiKeyPrefix, apiKey)) return apiKey

  throw new Error(
    `FIRST_API_KEY_FILE must have an API key: ${apiKeyPrefix}, ` +
      '40 hexadecimal digits, and the first 8 of their SHA-256'
  )
}

async function databaseServer(
  { DATABASE_URL: url, DATA_DIR }: Config,
  log: Logger,
  mayShare: boolean
): Promise<EmbeddedServer> {
  if (url !== undefined) return { url, stop: () => Promise.resolve() }

  // Loaded only here: a deployment with DATABASE_URL does not need it.
  const { startEmbeddedPostgres } = await import('./embedded/postgres.ts')
  return startEmbeddedPostgres(DATA_DIR, log, mayShare)
}

/** Runs a function whose error becomes one that names what to correct. */
async function explainFailure<Result>(
  run: () => Result | Promise<Result>
): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    throw new Error(
      `the database, or DATABASE_URL, cannot be used: ${messageOf(cause)}`,
      { cause }
    )
  }
}

/**
 * Opens the database for the service. The embedded PostgreSQL is ready when
 * this resolves. A DATABASE_URL may become usable later: migrating or checking
 * it, and storing the first API key, is repeated every second, until `ready`
 * resolves.
 *
 * @throws Error like `openDatabase`
 */
export async function openForService(
  config: Config,
  api: Api,
  log: Logger,
  metrics: Metrics
): Promise<OpenedDatabase & { ready: Promise<void> }> {
  const opened = await openDatabase(config, api, log, metrics, {
    mayShare: false
  })
  const isEmbedded = config.DATABASE_URL === undefined
  const { migrate, checkReady, createFirstKey } = opened
  const open = async () => {
    await (isEmbedded || config.MIGRATE_ON_START ? migrate() : checkReady())
    await createFirstKey()
  }
  if (isEmbedded) {
    await open()
    return { ...opened, ready: Promise.resolve() }
  }

  const ready = retry(open, {
    report: (error) => log.error(`${messageOf(error)}; retrying every second`)
  }).then(() => log.info('the database is ready'))

  return { ...opened, ready }
}
