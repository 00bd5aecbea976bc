// What samples and clients run on: a service behind a proxy, and its data.
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { query } from '../../test/support/database.ts'
import { call, script } from '../../test/support/process.ts'
import { startService } from '../../test/support/service.ts'
import { startProxy } from './proxy.ts'

const sources = import.meta.dirname
export const root = path.resolve(sources, '../..')
export const service = await startService(t)
const { databaseUrl } = service
export const proxy = await startProxy(t, service.app)
export const baseUrl = `${proxy.url}/v1`

const programs = [
  path.join(root, 'node_modules/.bin'),
  path.join(sources, 'node_modules/.bin'),
  path.join(sources, '.venv/bin')
]
const environment = {
  ...process.env,
  // The programs do not run as tests.
  NODE_OPTIONS: '',
  PATH: [...programs, process.env['PATH']].join(path.delimiter),
  BASE_URL: baseUrl,
  API_KEY: service.key
}

/** Runs a shell command to its end. */
export const run = (test: Test, command: string, cwd: string, env = {}) =>
  call(test, ['sh', '-c', command], { cwd, env: { ...environment, ...env } })

/** Makes a new folder for files that are generated or written. */
export function makeFolder(name: string): string {
  const folder = path.join(sources, '.work', name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return folder
}

export const clear = () =>
  query(
    databaseUrl,
    `TRUNCATE categories, pets, orders, messages, idempotency_keys
     RESTART IDENTITY CASCADE`
  )

/**
 * Makes the data of tools/seed.ts and enough pets for a second page the only
 * data.
 */
export async function restore(test: Test): Promise<void> {
  await clear()
  const env = { DATABASE_URL: databaseUrl }
  await call(test, script('tools/seed.ts'), { env })
  await query(
    databaseUrl,
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Pet ' || n, 1, 'available'
     FROM generate_series(4, 30) AS n`
  )
}
