#!/usr/bin/env node
// The command `npm run keys`, or `pet-categories-keys` in the built package.
import { fail } from '../log.ts'
import { runCommand } from '../postgres/open.ts'
import { keyCommands } from './commands.ts'
import { KeyStore } from './store.ts'

const command = ['keys', ...process.argv.slice(2)].join(' ')
const commands = keyCommands((action) =>
  runCommand((database) => action(new KeyStore(database, command)))
)
await commands.parseAsync().catch(fail)
