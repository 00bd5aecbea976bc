import { type Config, loadConfig } from '../framework/config.ts'
import { exitOnError } from '../framework/exit-on-error.ts'
import { createLogger } from '../framework/log.ts'
import { Metrics } from '../framework/metrics.ts'
import {
  openDatabase,
  type OpenedDatabase
} from '../framework/open-database.ts'
import type { Database } from '../framework/postgres/database.ts'
import { api } from '../handlers/index.ts'

type Printed = string | object[]

/** Ends the process: what cannot be shown may be a new API key. */
const failWithoutOutput = ({ message }: Error) =>
  exitOnError(api.names.service)(
    new Error(`the command has run, but its output is lost: ${message}`)
  )

/**
 * Runs a command on the configured database, and prints the text that it
 * returns, or a table of rows.
 *
 * @param logLevel by default, that of the configuration
 */
export async function withDatabase(
  command: (opened: OpenedDatabase, config: Config) => Promise<Printed>,
  logLevel?: string
): Promise<void> {
  process.stdout.once('error', failWithoutOutput)
  const config = loadConfig(process.env)
  const log = createLogger(logLevel ?? config.LOG_LEVEL, api.names.apiKeyPrefix)
  const opened = await openDatabase(config, api, log, new Metrics(), {
    mayShare: true
  })

  try {
    const result = await command(opened, config)
    if (typeof result === 'string') console.log(result)
    else console.table(result)
  } finally {
    await opened.closeDatabase()
  }
}

/**
 * The same for a command that needs the tables, without a log. It migrates only
 * the embedded PostgreSQL: creating an API key must not upgrade a production
 * database.
 */
export const withMigratedDatabase = (
  command: (database: Database) => Promise<Printed>
): Promise<void> =>
  withDatabase(async ({ database, migrate, checkReady }, { DATABASE_URL }) => {
    await (DATABASE_URL === undefined ? migrate() : checkReady())
    return command(database)
  }, 'silent')
