// Runs the tests on one PostgreSQL: the server of TEST_DATABASE_URL, or an
// embedded one.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { stripVTControlCharacters } from 'node:util'
import { startEmbeddedPostgres } from '../tools/start/embedded-postgres.ts'
import {
  emptyDatabaseOptions,
  migrate,
  query,
  urlOf
} from './support/database.ts'
import { copyData } from './support/dedicated-postgres.ts'

/** The temporary folder of the tests. */
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-'))

/** DATA_DIR of a server with a migrated database, which tests copy. */
const dataDir = path.join(folder, "it's a long 'ü' name of a folder %2F")

async function fillDataDir(): Promise<void> {
  // What a killed first start leaves.
  mkdirSync(path.join(dataDir, 'initdb/postgres'), { recursive: true })
  const server = await startEmbeddedPostgres(dataDir)
  // Tests kill processes, not machines.
  await query(server.url, 'ALTER SYSTEM SET fsync = off')
  await migrate(server.url)
  await server.stop()
}

function openServer() {
  const url = process.env['TEST_DATABASE_URL']
  if (url !== undefined) return { url, stop: () => Promise.resolve() }

  const copy = path.join(folder, 'server')
  copyData(dataDir, copy)
  return startEmbeddedPostgres(copy)
}

/** The arguments, or all test files. */
function testFiles(): string[] {
  const files = process.argv.slice(2)
  if (files.length > 0) return files

  const all = readdirSync('test')
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => path.join('test', name))
  // Those that start processes come first, because they take longest.
  const slow = all.filter((file) =>
    /support\/(dedicated-postgres|process)/.test(readFileSync(file, 'utf8'))
  )
  return [...new Set([...slow, ...all])]
}

/** Removes the colours of tap's differences, unless a terminal shows them. */
async function* uncoloured(output: AsyncIterable<Buffer | string>) {
  for await (const text of output)
    yield process.stdout.isTTY ? text : stripVTControlCharacters(String(text))
}

/**
 * Runs test files to their end. Node.js runs them, because the runner of tap
 * loads hooks into each file, which compile, mock and trace modules that no test
 * needs: half a second for each of some thirty files.
 */
async function runFiles(environment: Record<string, string>): Promise<void> {
  Object.assign(process.env, environment, {
    // Seconds for a file.
    TAP_TIMEOUT: process.env['TAP_TIMEOUT'] ?? '600',
    TMPDIR: folder,
    // Where services that tests start also keep what they compile.
    NODE_COMPILE_CACHE: path.join(folder, 'node-compile-cache')
  })
  // Node.js 24 runs TypeScript.
  if (parseInt(process.versions.node) < 24)
    process.env['NODE_OPTIONS'] = '--import=tsx'
  // Ctrl-C ends the tests, and then this process.
  process.on('SIGINT', () => {})

  // Tests wait as much as they compute.
  const concurrency = 2 * availableParallelism()
  const results = run({ files: testFiles(), concurrency })
  results.on('test:fail', () => {
    process.exitCode = 1
  })
  await pipeline(results, new spec(), uncoloured, process.stdout, {
    end: false
  })
}

const setServicePassword = (password: string) =>
  query(server.url, `ALTER ROLE pet_categories_service PASSWORD ${password}`)

/** Throws if the tests would lock an installation out. */
async function rejectInstallation(): Promise<void> {
  const passwords = await query(
    server.url,
    "SELECT FROM pg_authid WHERE rolname = 'pet_categories_service' AND rolpassword IS NOT NULL"
  )
  if (passwords.length > 0)
    throw new Error(
      'the tests would change the password of pet_categories_service, which an installation or a killed run has set: set it to NULL, or TEST_DATABASE_URL to another server'
    )
}

await fillDataDir()
const server = await openServer()
await rejectInstallation()
// The migrated database that tests copy.
const template = `petcat_test_template_${process.pid}`
await query(server.url, `CREATE DATABASE ${template} ${emptyDatabaseOptions}`)
await migrate(urlOf(server.url, template))
// A server of TEST_DATABASE_URL may ask for passwords: both roles have one.
const { password } = new URL(server.url)
await setServicePassword(`'${password}'`)

try {
  await runFiles({
    TEST_DATA_DIR: dataDir,
    TEST_SERVER_URL: server.url,
    TEST_TEMPLATE_DATABASE: template
  })
} finally {
  await setServicePassword('NULL')
  await query(server.url, `DROP DATABASE ${template} WITH (FORCE)`)
  await server.stop()
}
rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
