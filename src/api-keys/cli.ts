#!/usr/bin/env node
// The command `npm run keys`, or `pet-categories-keys` in the built package.
import { loadConfig } from '../config.ts'
import { createLogger, fail } from '../log.ts'
import { openConfigured } from '../postgres/open.ts'
import { keyCommands } from './commands.ts'
import { keyStore } from './store.ts'

const commands = keyCommands(async (action) => {
  const database = await openConfigured(loadConfig(process.env), 'keys', createLogger('silent'))
  try {
    console.log(await action(keyStore(database, ['keys', ...process.argv.slice(2)].join(' '))))
  } finally {
    await database.close()
  }
})

await commands.parseAsync().catch(fail)
