// Compares this service with its ceiling and peers, and writes RESULTS.md.
// `--quick` measures each work once, and only prints.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { apiKeyPrefix } from '../../generated/names.ts'
import { createLogger } from '../../src/framework/log.ts'
import { startEmbeddedPostgres } from '../../src/framework/embedded/postgres.ts'
import { api } from '../../src/handlers/index.ts'
import {
  createTemplate,
  dropDatabase,
  urlOf
} from '../../test/support/database.ts'
import { Tables } from './database.ts'
import { create, list, type Work, works } from './plan.ts'
import { report, type Result, type Sample, writeReport } from './report.ts'
import { build, programs, type Server, startServer } from './servers.ts'
import { loadByWrk } from './wrk.ts'

const isQuick = process.argv.includes('--quick')
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))

// So that the servers end with it.
process.once('SIGTERM', () => process.exit(1))
process.once('SIGINT', () => process.exit(1))

async function openPostgres() {
  const url = process.env['DATABASE_URL']
  if (url !== undefined)
    return { url, origin: 'from DATABASE_URL', stop: async () => {} }

  const logger = createLogger('warn', apiKeyPrefix)
  const embedded = await startEmbeddedPostgres(folder, logger)

  return { ...embedded, origin: 'embedded' }
}

function createKey(): string {
  const command = ['dist/src/commands/keys.js', 'create', '--name', 'benchmark']
  const key = execFileSync(process.execPath, command, {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    encoding: 'utf8'
  })

  return key.trim()
}

const postgres = await openPostgres()
const databaseName = await createTemplate(postgres.url, [api.migrations])
const databaseUrl = urlOf(postgres.url, databaseName)
const key = createKey()
const tables = new Tables(databaseUrl)
await tables.connect()

const started: Server[] = []
const missing: string[] = []

async function startServers(): Promise<void> {
  for (const program of programs) {
    const { title } = program
    console.error(`start ${title}`)
    const reason = build(program)
    if (reason === undefined) {
      const service = started[0]?.url
      started.push(await startServer(program, databaseUrl, key, service))
    } else {
      missing.push(`${title} was not measured: ${reason}.`)
    }
  }
}

async function measure(server: Server, work: Work): Promise<Sample> {
  await tables.fill(work)
  // Only bare Fastify has this method: it forgets the former responses.
  await server.settle('DELETE')
  await server.settle()

  const trimming = new AbortController()
  const trimmed = work.isTrimmed
    ? tables.trim(work, trimming.signal)
    : undefined
  const target = { url: server.url, key }
  await loadByWrk(target, work, 1)
  await server.settle()

  const before = server.cpu()
  const measured = await loadByWrk(target, work, 1)
  const cpu = server.cpu() - before

  trimming.abort()
  await trimmed
  await server.settle()

  return { ...measured, cpuPerRequest: cpu / measured.responses }
}

/** Measures a work on each server, one after the other, in rounds. */
async function measureWork(work: Work): Promise<Result> {
  const measured = started.filter(
    ({ program }) => !work.hasPets || program.hasPets
  )
  const samples = new Map<string, Sample[]>()
  for (let round = 1; round <= work.rounds; round++) {
    for (const server of measured) {
      const { title } = server.program
      const sample = await measure(server, work)
      samples.set(title, [...(samples.get(title) ?? []), sample])
      const rate = Math.round(sample.rate)
      console.error(`${work.title}, round ${round}: ${title} ${rate}/s`)
    }
  }

  return { title: work.title, samples }
}

await startServers()
console.error('warm up')
for (const work of [list(100, 64), create(64)])
  await measureWork({ ...work, rounds: 1 })

const results: Result[] = []
for (const work of works)
  results.push(await measureWork(isQuick ? { ...work, rounds: 1 } : work))

for (const server of started) await server.stop()
const serverVersion = await tables.end()
await dropDatabase(postgres.url, databaseName)
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const text = report({
  plan: isQuick
    ? 'quick run'
    : 'full run, medians of 5 rounds (3 with pets or 10,000 rows)',
  results,
  missing,
  postgres: `${serverVersion} (${postgres.origin})`
})
console.log(text)
if (!isQuick) await writeReport(text)
