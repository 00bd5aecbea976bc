// The command `npm run migrate`: applies the pending migrations to the configured database.
import { loadConfig } from './config.ts'
import { createLogger, fail } from './log.ts'
import { openConfigured } from './postgres/open.ts'
import { privileges } from './privileges.ts'

try {
  const config = loadConfig(process.env)
  const database = await openConfigured(
    config,
    'migrate',
    createLogger(config.LOG_LEVEL),
    privileges
  )
  await database.close()
  console.log('The database is up to date.')
} catch (error) {
  fail(error)
}
