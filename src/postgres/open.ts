import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, loadConfig } from '../config.ts'
import { createLogger, oneLine } from '../log.ts'
import { Database, openDatabase } from './database.ts'
import { startEmbeddedPostgres } from '../embedded/postgres.ts'
import { applyMigrations, migrationCheck } from './migrate.ts'

/**
 * Opens the database in DATABASE_URL, or else starts the embedded PostgreSQL in DATA_DIR, and migrates it. The keys and seed
 * commands only check a DATABASE_URL; the service does not wait for one, but retries every second in the background.
 *
 * @param privileges of DATABASE_SERVICE_ROLE
 * @throws Error that names DATABASE_URL or DATA_DIR when the database cannot be used. The process must end then, which also stops
 *   the embedded PostgreSQL.
 */
export async function openConfigured(
  config: Config,
  opener: 'service' | 'command' | 'migrate',
  log: Logger,
  privileges = {}
) {
  const { DATABASE_URL, DATA_DIR } = config
  const isEmbedded = DATABASE_URL === undefined
  const isService = opener === 'service'
  const explain = (error: unknown) =>
    `${isEmbedded ? 'DATA_DIR' : 'DATABASE_URL'} cannot be used: ${oneLine(error)}`

  async function retry(prepare: () => Promise<void>) {
    for (let logged = ''; ; await sleep(1000)) {
      const reason = await prepare().then(() => undefined, explain)
      if (reason === undefined)
        return logged === '' || log.info('the database is ready')
      if (reason !== logged) log.error(`${reason}; retrying every second`)
      logged = reason
    }
  }

  try {
    const server = isEmbedded
      ? await startEmbeddedPostgres(DATA_DIR, opener, log)
      : undefined
    const url = server?.url ?? String(DATABASE_URL)
    const database = openDatabase(url, config, log)
    const mayMigrate =
      isEmbedded ||
      opener === 'migrate' ||
      (isService && config.MIGRATE_ON_START)
    const prepare = mayMigrate
      ? () => applyMigrations(url, config, privileges, log)
      : migrationCheck(database)
    // Only a DATABASE_URL may become usable later.
    if (isEmbedded || !isService) await prepare()
    else {
      database.isReady = false
      void retry(prepare).then(() => (database.isReady = true))
    }
    const close = () => Database.prototype.close.call(database)
    return Object.assign(database, { close: () => close().then(server?.stop) })
  } catch (error) {
    throw new Error(explain(error), { cause: error })
  }
}

/** Runs a command on the database of the environment's configuration, without a log, and prints the text that it returns. */
export async function runCommand(
  command: (database: Database) => Promise<string>
): Promise<void> {
  const database = await openConfigured(
    loadConfig(process.env),
    'command',
    createLogger('silent')
  )
  try {
    console.log(await command(database))
  } finally {
    await database.close()
  }
}
