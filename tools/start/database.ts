import { existsSync } from 'node:fs'
import path from 'node:path'
import { loadConfig } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { applyMigrations } from '../../src/postgres/migrations.ts'
import {
  type PostgresServer,
  startEmbeddedPostgres
} from './embedded-postgres.ts'

/**
 * Reads `.env`. Without DATABASE_URL, starts the embedded PostgreSQL, migrates
 * it, and sets DATABASE_URL to it, as the owner of the database.
 *
 * @param mayShare see `startEmbeddedPostgres`
 * @returns the server that was started, if there is one
 * @throws Error of one line when the configuration or DATA_DIR cannot be used
 */
export async function provideDatabase(
  mayShare: boolean
): Promise<PostgresServer | undefined> {
  if (existsSync('.env')) process.loadEnvFile('.env')
  const { env } = process
  if (env['DATABASE_URL'] || env['DATABASE_URL_FILE']) return undefined

  // A mistake in another variable is told before anything is made.
  loadConfig({ ...env, DATABASE_URL: 'postgres://embedded' })
  const directory = path.resolve(env['DATA_DIR'] || './.data')
  // The output of a command is its own.
  if (!mayShare) console.log(`Using the embedded PostgreSQL in ${directory}`)
  const server = await startEmbeddedPostgres(directory, mayShare)
  await applyMigrations(server.url, createLogger('silent'))
  env['DATABASE_URL'] = server.url

  return server
}
