// Runs the tests, all against one Postgres: the server of TEST_DATABASE_URL, or an embedded one that lives as long as this
// process. Arguments go to tap.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { startEmbeddedPostgres } from '../src/postgres/embedded/embedded.ts'
import { createTemplate, dropDatabase } from './support/database.ts'

const given = process.env['TEST_DATABASE_URL']
const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
const embedded = given === undefined ? await startEmbeddedPostgres(directory, pino({ level: 'warn' })) : undefined
const server = given ?? embedded?.url ?? ''
const template = await createTemplate(server)
const tap = spawn(process.execPath, ['node_modules/tap/dist/esm/run.mjs', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, TEST_SERVER: server, TEST_TEMPLATE: template }
})
process.on('SIGINT', () => {}) // tap has it too, and ends; what we started is then stopped here
tap.on('exit', (code) => {
  void (async () => {
    await dropDatabase(server, template)
    await embedded?.stop()
    rmSync(directory, { recursive: true, force: true })
    process.exitCode = code ?? 1
  })()
})
