// Runs the tests against one PostgreSQL: the server of TEST_DATABASE_URL, or an
// embedded one. Arguments go to tap.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statfsSync
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import '../src/framework/javascript-pg.ts'
import { startEmbeddedPostgres } from '../src/framework/embedded/postgres.ts'
import { copyData, empty, migrate, query, urlOf } from './support/database.ts'

/** Bytes that the tests may need at the same time, with a reserve. */
const neededSpace = 2 * 2 ** 30

/**
 * Where files are temporary: in memory if there is room, which spares a third
 * of the processor time, unless TMPDIR says otherwise.
 */
function temporaryRoot(): string {
  const memory = '/dev/shm'
  if (process.env['TMPDIR'] !== undefined || !existsSync(memory))
    return tmpdir()
  const { bavail, bsize } = statfsSync(memory)

  return bavail * bsize < neededSpace ? tmpdir() : memory
}

// Tests and their processes have their temporary folder in it, too.
const directory = mkdtempSync(path.join(temporaryRoot(), 'petcat-'))
const log = pino({ level: 'warn' })

/**
 * Makes a new data folder, which tests copy: several times faster than initdb.
 */
async function prepareData(): Promise<void> {
  const folder = path.join(directory, 'new')
  const postgres = await startEmbeddedPostgres(folder, log)
  await postgres.stop()
  const data = path.join(folder, 'postgres')
  // Tests kill processes, not machines.
  appendFileSync(path.join(data, 'postgresql.auto.conf'), 'fsync = off\n')
  process.env['TEST_DATA'] = data
}

async function openServer() {
  const url = process.env['TEST_DATABASE_URL']
  if (url !== undefined) return { url, stop: () => Promise.resolve() }

  copyData(directory)

  return startEmbeddedPostgres(directory, log)
}

/** Runs tap to its end. Returns its exit code. */
async function runTap(environment: Record<string, string>): Promise<number> {
  const loader = import.meta.resolve('./support/typescript.js')
  const nodeOptions = process.env['NODE_OPTIONS'] ?? ''

  const tap = spawn(
    process.execPath,
    [
      'node_modules/tap/dist/esm/run.mjs',
      // Tests wait as much as they compute.
      `--jobs=${Math.round(2.5 * availableParallelism())}`,
      ...process.argv.slice(2)
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...environment,
        NODE_OPTIONS: `${nodeOptions} --import=${loader}`,
        TMPDIR: directory
      }
    }
  )
  // Ctrl-C ends tap, and then this process.
  process.on('SIGINT', () => {})
  const [code] = (await once(tap, 'exit')) as [number | null]

  return code ?? 1
}

await prepareData()
const server = await openServer()
// The migrated database that tests copy.
const template = `petcat_test_template_${process.pid}`
await query(server.url, `CREATE DATABASE ${template} ${empty}`)
await migrate(urlOf(server.url, template))

process.exitCode = await runTap({
  TEST_SERVER: server.url,
  TEST_TEMPLATE: template
})
await query(server.url, `DROP DATABASE ${template} WITH (FORCE)`)
await server.stop()
rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
