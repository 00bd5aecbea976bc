// `npm run migrate`: applies the pending migrations to the configured database.
// `npm run migrate -- --check` checks the configuration, and prints them only.
import { type Config, loadConfig } from '../framework/config.ts'
import { createLogger, exitOnError } from '../framework/log.ts'
import {
  findPendingMigrations,
  migrateDatabase
} from '../framework/open-database.ts'
import { api } from '../handlers/index.ts'

const isUpToDate = 'The database is up to date.'

async function run(options: string[]): Promise<void> {
  const config = loadConfig(process.env)
  switch (options.join(' ')) {
    case '':
      return migrate(config)
    case '--check':
      return check(config)
    default:
      throw new Error('migrate has only the option --check')
  }
}

async function migrate(config: Config): Promise<void> {
  await migrateDatabase(
    config,
    api,
    createLogger(config.LOG_LEVEL, api.names.apiKeyPrefix)
  )
  console.log(isUpToDate)
}

async function check(config: Config): Promise<void> {
  const log = createLogger('silent', api.names.apiKeyPrefix)
  const pending = await findPendingMigrations(config, api, log)
  console.log(
    pending.length === 0 ? isUpToDate : `To migrate: ${pending.join(', ')}`
  )
}

await run(process.argv.slice(2)).catch(exitOnError(api.names.service))
