import { loadConfig } from '../framework/config.ts'
import { createLogger } from '../framework/log.ts'
import {
  openDatabase,
  type OpenedDatabase
} from '../framework/open-database.ts'
import type { Database } from '../framework/postgres/database.ts'
import { api } from '../handlers/index.ts'

type Printed = string | object[]

/**
 * Runs a command on the configured database, and prints the text that it
 * returns, or a table of rows.
 *
 * @param logLevel by default, that of the configuration
 */
export async function runOnOpened(
  command: (opened: OpenedDatabase) => Promise<Printed>,
  logLevel?: string
): Promise<void> {
  const config = loadConfig(process.env)
  const level = logLevel ?? config.LOG_LEVEL
  const log = createLogger(level, api.names.apiKeyPrefix)
  const opened = await openDatabase(config, api, log, { mayShare: true })
  try {
    const result = await command(opened)
    if (typeof result === 'string') console.log(result)
    else console.table(result)
  } finally {
    await opened.closeDatabase()
  }
}

/** The same for a command that needs the tables, without a log. */
export const runCommand = (
  command: (database: Database) => Promise<Printed>
): Promise<void> =>
  runOnOpened(async ({ database, migrateOrCheck }) => {
    await migrateOrCheck()
    return command(database)
  }, 'silent')
