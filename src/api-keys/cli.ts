#!/usr/bin/env node
// The command `npm run keys`, `pet-categories-keys` where the package is built: makes, lists, rotates and revokes API keys.
import { CommanderError } from 'commander'
import { loadConfig } from '../config.ts'
import { openConfigured } from '../postgres/open.ts'
import { fail } from '../log.ts'
import { createLogger } from '../log.ts'
import { keyCommands } from './commands.ts'
import { keyStore } from './store.ts'

const commands = keyCommands({
  name: process.env['npm_lifecycle_event'] === 'keys' ? 'npm run keys --' : 'pet-categories-keys',
  command: ['keys', ...process.argv.slice(2)].join(' '),
  async withKeys(work) {
    const config = loadConfig(process.env)
    const database = await openConfigured(config, 'keys', createLogger('silent'))
    try {
      console.log(await work(keyStore(database)))
    } finally {
      await database.close()
    }
  }
})

try {
  await commands.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) fail(error)
  // Help that was asked for is a success; in place of a command it is not.
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
