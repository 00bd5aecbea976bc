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
import { type Work, works } from './plan.ts'
import { report, type Result, type Sample, writeReport } from './report.ts'
import { build, programs, type Server, startServer } from './servers.ts'
import { loadByWrk } from './wrk.ts'

const isQuick = process.argv.includes('--quick')
const rounds = isQuick ? 1 : 5
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))

// So that the servers end with it.
process.once('SIGTERM', () => process.exit(1))
process.once('SIGINT', () => process.exit(1))

async function openPostgres() {
  const url = process.env['DATABASE_URL']
  if (url !== undefined) return { url, stop: async () => {} }

  return startEmbeddedPostgres(folder, createLogger('warn', apiKeyPrefix))
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
for (const program of programs) {
  console.error(`start ${program.title}`)
  if (!build(program)) continue
  const service = started[0]?.url
  started.push(await startServer(program, databaseUrl, key, service))
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
  await loadByWrk(target, work)
  await server.settle()

  const before = server.cpu()
  const { requests, duration } = await loadByWrk(target, work)
  const cpu = server.cpu() - before

  trimming.abort()
  await trimmed
  await server.settle()

  return { rate: requests / (duration / 1e6), cpuPerRequest: cpu / requests }
}

/** Measures a work on each server, one after the other, in rounds. */
async function measureWork(work: Work): Promise<Result> {
  const { title, hasPets } = work
  const samples = new Map<string, Sample[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const server of started) {
      const { program } = server
      if (hasPets && !program.hasPets) continue
      const sample = await measure(server, work)
      const earlier = samples.get(program.title) ?? []
      samples.set(program.title, [...earlier, sample])
      const rate = Math.round(sample.rate)
      console.error(`${title}, round ${round}: ${program.title} ${rate}/s`)
    }
  }

  return { title, samples }
}

const results: Result[] = []
for (const work of works) results.push(await measureWork(work))

for (const server of started) await server.stop()
const version = await tables.end()
await dropDatabase(postgres.url, databaseName)
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const text = report(results, rounds, version)
console.log(text)
if (!isQuick) writeReport(text)
