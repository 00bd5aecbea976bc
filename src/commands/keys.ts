#!/usr/bin/env node
// `npm run keys`, or `pet-categories-keys` in the image: manages API keys.
import { keyCommands } from '../api-keys/commands.ts'
import { KeyStore } from '../api-keys/store.ts'
import { fail } from '../log.ts'
import { runCommand } from './run-command.ts'

// For the audit log.
const commandLine = ['keys', ...process.argv.slice(2)].join(' ')

const program = keyCommands((action) =>
  runCommand((database) => action(new KeyStore(database, commandLine)))
)
await program.parseAsync().catch(fail)
