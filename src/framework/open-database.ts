import type { Logger } from 'pino'
import type { Api } from './api.ts'
import type { Config } from './config.ts'
import type { EmbeddedServer } from './embedded/server.ts'
import { messageOf } from './message-of.ts'
import type { Metrics } from './metrics.ts'
import { Database } from './postgres/database.ts'
import {
  applyMigrations,
  pendingMigrationsFinder,
  requireMigrations
} from './postgres/migrate.ts'
import { unusableDatabase } from './postgres/unusable-database.ts'
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
  /** Closes every connection, and stops the embedded PostgreSQL. */
  closeDatabase: () => Promise<void>
}

/**
 * Opens DATABASE_URL, or else the embedded PostgreSQL.
 *
 * @param options.mayShare whether the embedded PostgreSQL of another process
 *   will do, as for a command
 * @throws Error if the URL or DATA_DIR can never be used. The process must end
 *   then, which also stops the embedded PostgreSQL.
 */
export async function openDatabase(
  config: Config,
  { migrationsFolder, names }: Api,
  log: Logger,
  metrics: Metrics,
  { mayShare }: { mayShare: boolean }
): Promise<OpenedDatabase> {
  const { url, stop, crash } = await databaseServer(config, log, mayShare)
  const database = await orUnusable(
    () => new Database(url, config, log, metrics, names.service)
  )
  const findPending = pendingMigrationsFinder(database, migrationsFolder)
  const checkReady = () => orUnusable(() => requireMigrations(findPending))
  const migrate = () =>
    reportWait(
      'the migrations, or for another process that migrates',
      orUnusable(() => applyMigrations(url, config, migrationsFolder, log))
    )

  return {
    database,
    crash,
    checkReady,
    findPending: () => orUnusable(findPending),
    migrate,
    closeDatabase: async () => {
      await database.close()
      await stop()
    }
  }
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

/** Runs a function whose error becomes one that says what to do. */
async function orUnusable<Result>(
  run: () => Result | Promise<Result>
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw unusableDatabase(error)
  }
}

/**
 * Opens the database for the service. The embedded PostgreSQL is ready when
 * this resolves. A DATABASE_URL may become usable later: migrating or checking
 * it is repeated every second, until `ready` resolves.
 *
 * @param prepare what to do after that, before it is ready
 * @throws Error like `openDatabase`
 */
export async function openForService(
  config: Config,
  api: Api,
  log: Logger,
  metrics: Metrics,
  prepare: (database: Database) => Promise<void>
): Promise<OpenedDatabase & { ready: Promise<void> }> {
  const opened = await openDatabase(config, api, log, metrics, {
    mayShare: false
  })
  const isEmbedded = config.DATABASE_URL === undefined
  const { database, migrate, checkReady } = opened
  const open = async () => {
    await (isEmbedded || config.MIGRATE_ON_START ? migrate() : checkReady())
    await prepare(database)
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
