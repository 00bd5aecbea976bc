import { loadConfig } from '../framework/config.ts'
import { createLogger } from '../framework/log.ts'
import { openForCommand } from '../framework/open-database.ts'
import type { Database } from '../framework/postgres/database.ts'
import { api } from '../handlers/index.ts'

/**
 * Runs a command on the configured database, without a log, and prints the text
 * that it returns, or a table of rows.
 */
export async function runCommand(
  command: (database: Database) => Promise<string | object[]>
): Promise<void> {
  const config = loadConfig(process.env)
  const { database, stopServer } = await openForCommand(
    config,
    api,
    createLogger('silent', api.names.apiKeyPrefix)
  )
  try {
    const result = await command(database)
    if (typeof result === 'string') console.log(result)
    else console.table(result)
  } finally {
    await database.close()
    await stopServer()
  }
}
