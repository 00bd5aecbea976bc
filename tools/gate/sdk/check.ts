// Runs the code samples of openapi.yaml against the service. Generates each client from openapi.yaml, compiles it, runs its
// program against the service, and compares docs/clients.md with the result. Exits 1 when a sample or client fails or the page is
// stale. With --write, writes the page.
import { exec, execSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { format, resolveConfig } from 'prettier'
import { startLiveService } from '../live-service.ts'
import { type Client, clients } from './clients.ts'
import { startProxy } from './proxy.ts'
import { runSamples } from './samples.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const work = path.join(root, 'tools/gate/.sdk')
const page = path.join(root, 'docs/clients.md')
const largestId = '9223372036854775807'
const bins = ['node_modules/.bin', 'tools/gate/node_modules/.bin', 'tools/gate/.venv/bin'].map((bin) =>
  path.join(root, bin)
)
const service = await startLiveService()
const proxy = await startProxy(service.baseUrl)
const env = { ...process.env, PATH: [...bins, process.env['PATH']].join(path.delimiter), API_KEY: service.key }

const run = promisify(exec)

async function query(sql: string) {
  const database = new pg.Client({ connectionString: service.databaseUrl })
  await database.connect()
  await database.query(sql).finally(() => database.end())
}

/** Makes the data of src/seed.ts and enough pets for a second page the only data. */
async function restore() {
  await query('TRUNCATE categories, pets, orders, messages RESTART IDENTITY CASCADE')
  await run('node --import tsx src/seed.ts', { cwd: root, env: { ...env, DATABASE_URL: service.databaseUrl } })
  await query("INSERT INTO pets (name, category_id, status) SELECT 'Pet ' || n, 1, 'available' FROM generate_series(4, 30) n")
}
rmSync(work, { recursive: true, force: true })
const problems = await runSamples(readFileSync(path.join(root, 'openapi.yaml'), 'utf8'), path.join(work, 'samples'), { proxy, restore, env })
for (const problem of problems) console.error(problem)
proxy.stop()
await service.stop()
