// `npm run migrate`: applies the pending migrations to the configured database.
import { loadConfig } from '../config.ts'
import { createLogger, exitWithError } from '../log.ts'
import { migrateDatabase } from '../open-database.ts'
import { api } from '../resources/index.ts'

async function migrate(): Promise<void> {
  const config = loadConfig(process.env)
  const log = createLogger(config.LOG_LEVEL)

  await migrateDatabase(config, api, log)
  console.log('The database is up to date.')
}

await migrate().catch(exitWithError)
