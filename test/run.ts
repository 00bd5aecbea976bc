// Runs the tests against one PostgreSQL: the server of TEST_DATABASE_URL, or an embedded one. Arguments go to tap.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { startEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { copyData, createTemplate, dropDatabase } from './support/database.ts'

const given = process.env['TEST_DATABASE_URL']
// The temporary folder of the tests and their processes too.
const directory = mkdtempSync(path.join(tmpdir(), 'petcat-'))
const log = pino({ level: 'warn' })
// A new data folder, which tests copy: several times faster than initdb.
const newData = path.join(directory, 'new')
await (await startEmbeddedPostgres(newData, 'service', log)).stop()
process.env['TEST_DATA'] = path.join(newData, 'postgres')
copyData(directory)
const embedded =
  given === undefined
    ? await startEmbeddedPostgres(directory, 'service', log)
    : undefined
const server = given ?? embedded?.url ?? ''
const template = await createTemplate(server)
const options = [`--jobs=${availableParallelism()}`, ...process.argv.slice(2)]
const tap = spawn(
  process.execPath,
  ['node_modules/tap/dist/esm/run.mjs', ...options],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${import.meta.resolve('./support/typescript.js')}`,
      TMPDIR: directory,
      TEST_SERVER: server,
      TEST_TEMPLATE: template
    }
  }
)
// Ctrl-C ends tap, and then this process.
process.on('SIGINT', () => {})
const [code] = (await once(tap, 'exit')) as [number | null]
await dropDatabase(server, template)
await embedded?.stop()
rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
process.exitCode = code ?? 1
