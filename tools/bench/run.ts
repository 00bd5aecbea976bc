// Compares this service with its ceiling and peers, and writes RESULTS.md.
// `--quick` measures each work once, and only prints.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { apiKeyPrefix } from '../../generated/names.ts'
import { startEmbeddedPostgres } from '../../src/framework/embedded/postgres.ts'
import { createLogger } from '../../src/framework/log.ts'
import { query } from '../../test/support/database.ts'
import { fill, openMigrated, trim } from './database.ts'
import { type Work, works } from './plan.ts'
import { report, type Result, type Sample } from './report.ts'
import { build, programs, type Server, startServer } from './servers.ts'
import { loadByWrk } from './wrk.ts'

const isQuick = process.argv.includes('--quick')
const rounds = isQuick ? 1 : 5
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))

// So that the servers end with it.
process.once('SIGTERM', () => process.exit(1))
process.once('SIGINT', () => process.exit(1))

const log = createLogger('warn', apiKeyPrefix)

const postgres = await startEmbeddedPostgres(folder, log)
const { url: databaseUrl } = postgres
const { database, client, key } = await openMigrated(databaseUrl)
await database.close()

const started: Server[] = []
for (const program of programs) {
  console.error(`start ${program.title}`)
  if (!build(program)) continue
  const service = started[0]?.url
  started.push(await startServer(program, databaseUrl, key, service))
}

async function measure(server: Server, work: Work): Promise<Sample> {
  await fill(client, work)
  // Only bare Fastify has this method: it forgets the former responses.
  await server.settle('DELETE')
  await server.settle()

  const trimming = new AbortController()
  const trimmed = work.isTrimmed
    ? trim(client, work, trimming.signal)
    : undefined
  await loadByWrk(server.url, key, work)
  await server.settle()

  const before = server.cpu()
  const { requests, duration } = await loadByWrk(server.url, key, work)
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

for (const server of started) server.stop()
await client.end()
const [version] = await query(databaseUrl, 'SHOW server_version')
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const text = await report(results, rounds, String(version?.['server_version']))
console.log(text)
if (!isQuick) writeFileSync('tools/bench/RESULTS.md', text)
