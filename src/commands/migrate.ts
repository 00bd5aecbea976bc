// `npm run migrate`: applies the pending migrations to the configured database.
// `npm run migrate -- --check` checks the configuration, and prints them only.
import { parseArgs } from 'node:util'
import '../framework/javascript-pg.ts'
import { exitOnError } from '../framework/exit-on-error.ts'
import type { OpenedDatabase } from '../framework/open-database.ts'
import { api } from '../handlers/index.ts'
import { withDatabase } from './run-command.ts'

const isUpToDate = 'The database is up to date.'

async function run(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean' } } })
  return values.check ? withDatabase(check, 'silent') : withDatabase(migrate)
}

async function migrate(opened: OpenedDatabase): Promise<string> {
  await opened.migrate()
  return isUpToDate
}

async function check(opened: OpenedDatabase): Promise<string> {
  const pending = await opened.findPending()
  return pending.length === 0 ? isUpToDate : `To migrate: ${pending.join(', ')}`
}

await run().catch(exitOnError(api.names.service))
