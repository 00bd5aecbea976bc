import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Api } from './api.ts'
import type { Config } from './config.ts'
import type { Opener } from './embedded/server.ts'
import { Database } from './postgres/database.ts'
import {
  applyMigrations,
  migrationCheck,
  readMigrations,
  readPendingMigrations
} from './postgres/migrate.ts'
import { unusableDatabase } from './postgres/reasons.ts'

/** Milliseconds between two attempts to prepare a DATABASE_URL. */
const retryIntervalMs = 1000

export interface OpenedDatabase {
  database: Database
  /** Stops the embedded PostgreSQL if this process has started it. */
  stopServer: () => Promise<void>
  /** Resolves with the reason when the embedded PostgreSQL ends by itself. */
  serverCrashed?: Promise<Error>
}

/**
 * Opens the database for the service. Without DATABASE_URL, the embedded
 * PostgreSQL is ready when this resolves. A DATABASE_URL may become usable
 * later: preparing it is repeated every second, until `ready` resolves.
 *
 * @throws Error that names DATABASE_URL or DATA_DIR if it can never be used.
 *   The process must end then, which also stops the embedded PostgreSQL.
 */
export async function openForService(
  config: Config,
  api: Api,
  log: Logger
): Promise<OpenedDatabase & { ready: Promise<void> }> {
  const { DATABASE_URL: url, MIGRATE_ON_START } = config
  if (url === undefined) {
    const opened = await openEmbedded(config, api, 'service', log)
    return { ...opened, ready: Promise.resolve() }
  }

  const opened = openDatabaseUrl(url, config, api, log)
  const { database } = opened
  const prepare = MIGRATE_ON_START
    ? () => migrate(url, config, api, log)
    : migrationCheck(database, api.migrations)

  const ready = prepareRepeatedly(prepare, log)
  database.reportOutagesAfter(ready)

  return { ...opened, ready }
}

/**
 * Opens the database for a command, which needs the tables. A command migrates
 * the embedded PostgreSQL, but not a DATABASE_URL: creating an API key must not
 * upgrade a production database.
 *
 * @throws Error that names DATABASE_URL or DATA_DIR if it cannot be used now
 */
export async function openForCommand(
  config: Config,
  api: Api,
  log: Logger
): Promise<OpenedDatabase> {
  const { DATABASE_URL: url } = config
  if (url === undefined) return openEmbedded(config, api, 'command', log)

  const opened = openDatabaseUrl(url, config, api, log)
  const checkMigrations = migrationCheck(opened.database, api.migrations)
  await orUnusable(checkMigrations())

  return opened
}

/**
 * Applies the pending migrations.
 *
 * @throws Error that names DATABASE_URL or DATA_DIR if it cannot be used now
 */
export async function migrateDatabase(
  config: Config,
  api: Api,
  log: Logger
): Promise<void> {
  const { DATABASE_URL: url } = config
  if (url === undefined) {
    const server = await startEmbedded(config, api, 'migrate', log)
    return server.stop()
  }

  await orUnusable(migrate(url, config, api, log))
}

/**
 * Returns the names of the migrations that DATABASE_URL lacks. Changes nothing.
 *
 * @throws Error that names DATABASE_URL if it cannot be used now, or is unset:
 *   the embedded PostgreSQL is migrated at each start
 */
export async function findPendingMigrations(
  config: Config,
  api: Api,
  log: Logger
): Promise<string[]> {
  const { DATABASE_URL: url } = config
  if (url === undefined) throw new Error('DATABASE_URL is not set')

  const { database } = openDatabaseUrl(url, config, api, log)
  const migrations = readMigrations(api.migrations)

  try {
    return await orUnusable(readPendingMigrations(database, migrations))
  } finally {
    await database.close()
  }
}

/** Waits for a promise. Its error becomes one that says what to do. */
const orUnusable = <Result>(promise: Promise<Result>): Promise<Result> =>
  promise.catch((error: unknown) => {
    throw unusableDatabase(error)
  })

async function openEmbedded(
  config: Config,
  api: Api,
  opener: Exclude<Opener, 'migrate'>,
  log: Logger
): Promise<OpenedDatabase> {
  const { url, stop, crashed } = await startEmbedded(config, api, opener, log)
  const database = new Database(url, config, log, api.names.service)
  return { database, stopServer: stop, serverCrashed: crashed }
}

/** Starts the embedded PostgreSQL in DATA_DIR, or joins it, and migrates it. */
async function startEmbedded(
  config: Config,
  api: Api,
  opener: Opener,
  log: Logger
) {
  const server = await openDataDir(config.DATA_DIR, opener, log)
  try {
    await migrate(server.url, config, api, log)
  } catch (error) {
    await server.stop()
    throw error
  }

  return server
}

async function openDataDir(dataDir: string, opener: Opener, log: Logger) {
  // Loaded only here: a deployment with DATABASE_URL does not need it.
  const { startEmbeddedPostgres } = await import('./embedded/postgres.ts')
  return startEmbeddedPostgres(dataDir, opener, log)
}

/** Applies the pending migrations of the framework and of the API. */
function migrate(
  url: string,
  config: Config,
  api: Api,
  log: Logger
): Promise<void> {
  const applicationName = `${api.names.service} migrate`
  return applyMigrations(url, config, api.migrations, log, applicationName)
}

/** Opens a DATABASE_URL; connections are made on first use. */
function openDatabaseUrl(
  url: string,
  config: Config,
  api: Api,
  log: Logger
): OpenedDatabase {
  try {
    const database = new Database(url, config, log, api.names.service)
    return { database, stopServer: () => Promise.resolve() }
  } catch (error) {
    throw unusableDatabase(error)
  }
}

/** Prepares a DATABASE_URL. Logs each reason for a failure once. */
async function prepareRepeatedly(
  prepare: () => Promise<void>,
  log: Logger
): Promise<void> {
  let reported: string | undefined

  for (;;) {
    const failure = await prepare().then(() => undefined, unusableDatabase)
    if (failure === undefined) break

    const { message } = failure
    if (message !== reported) log.error(`${message}; retrying every second`)
    reported = message
    await sleep(retryIntervalMs)
  }

  if (reported !== undefined) log.info('the database is ready')
}
