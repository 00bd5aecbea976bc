import pg, { type ClientBase } from 'pg'
import { loadConfig } from '../config.ts'
import { parseDatabaseUrl } from '../postgres/database.ts'
import { throwWithRemedy } from '../postgres/remedies.ts'
import { appliedMigrationsSql } from '../postgres/readiness.ts'

/**
 * A command waits for no synchronous standby: while it is away, an API key can
 * still be revoked. The price: a failover may undo the command.
 */
const options = '-c synchronous_commit=local'

/**
 * Runs a command on the migrated database of the configuration, and prints the
 * text or the table that it returns.
 *
 * @throws Error whose message names the remedy when the database is not ready
 */
export async function runAndPrint(
  command: (connection: ClientBase) => Promise<string | object[]>
): Promise<void> {
  const { DATABASE_URL, DATABASE_TIMEOUT_MS } = loadConfig(process.env)
  const clientConfig = parseDatabaseUrl(DATABASE_URL)
  const connection = new pg.Client({
    ...clientConfig,
    // Not that of the service, whose abandoned connections are ended.
    application_name: 'pet-categories command',
    connectionTimeoutMillis: DATABASE_TIMEOUT_MS,
    query_timeout: DATABASE_TIMEOUT_MS,
    options: [clientConfig.options, options].join(' ').trim()
  })
  // A lost connection also fails its statement.
  connection.on('error', () => {})

  try {
    await connection.connect().catch(throwWithRemedy)
    await connection.query(appliedMigrationsSql).catch(throwWithRemedy)
    const result = await command(connection)
    if (typeof result === 'string') console.log(result)
    else console.table(result)
  } finally {
    await connection.end()
  }
}
