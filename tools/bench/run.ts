// Compares this service with the baseline, and writes RESULTS.md. `--quick`
// measures each work once, and only prints, as does `--against FOLDER`, which
// adds another build: the `dist/` of that folder.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { apiKeyPrefix } from '../../generated/names.ts'
import { startEmbeddedPostgres } from '../../src/framework/embedded/postgres.ts'
import { createLogger } from '../../src/framework/log.ts'
import { query } from '../../test/support/database.ts'
import { fill, openMigrated, trim } from './database.ts'
import { type Work, works } from './plan.ts'
import { report, type Result, type Sample } from './report.ts'
import { ownProgram, type Server, startServer } from './servers.ts'
import { loadByWrk } from './wrk.ts'

const { quick: isQuick = false, against } = parseArgs({
  options: { quick: { type: 'boolean' }, against: { type: 'string' } }
}).values
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

/** In the order of the columns. */
const programs = {
  'this service': ownProgram,
  // Where `npm run build` of this package puts it.
  baseline: 'tools/bench/dist/tools/bench/servers/baseline.js',
  ...(against && { [against]: path.join(against, ownProgram) })
}
const servers = new Map<string, Server>()
for (const [title, program] of Object.entries(programs))
  servers.set(title, await startServer(program, databaseUrl, key))

async function measure(server: Server, work: Work): Promise<Sample> {
  await fill(client, work)
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
  const samples = new Map<string, Sample[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const [title, server] of servers) {
      const sample = await measure(server, work)
      samples.set(title, [...(samples.get(title) ?? []), sample])
      const rate = Math.round(sample.rate)
      console.error(`${work.title}, round ${round}: ${title} ${rate}/s`)
    }
  }

  return { title: work.title, samples }
}

const results: Result[] = []
for (const work of works) results.push(await measureWork(work))

for (const server of servers.values()) server.stop()
await client.end()
const [version] = await query(databaseUrl, 'SHOW server_version')
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const text = await report(results, rounds, String(version?.['server_version']))
console.log(text)
if (!isQuick && !against) writeFileSync('tools/bench/RESULTS.md', text)
