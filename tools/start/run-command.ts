// Runs a command on DATABASE_URL or, without it, on the embedded PostgreSQL:
// node tools/run-typescript.js tools/start/run-command.ts src/commands/keys.ts [...]
import { exitWithError } from '../../src/exit-with-error.ts'
import { provideDatabase } from './database.ts'

// The command sees its own path and arguments.
process.argv.splice(1, 1)
const [, command = ''] = process.argv

const server = await provideDatabase(true).catch(exitWithError)
await import(new URL(`../../${command}`, import.meta.url).href)
await server?.stop()
