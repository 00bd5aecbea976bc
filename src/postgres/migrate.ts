// The command `npm run migrate`: brings the configured database up to the newest migration.
import { loadConfig } from '../config.ts'
import { openConfigured } from './open.ts'
import { fail } from '../log.ts'
import { createLogger } from '../log.ts'

try {
  const config = loadConfig(process.env)
  const database = await openConfigured(config, 'migrate', createLogger(config.LOG_LEVEL))
  await database.close()
  console.log('The database is up to date.')
} catch (error) {
  fail(error)
}
