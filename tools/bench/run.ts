// Compares this service with the baseline, and writes RESULTS.md.
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
import { type Server, startServer } from './servers.ts'
import { loadByWrk } from './wrk.ts'

const rounds = 5
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))

const log = createLogger('warn', apiKeyPrefix)
const postgres = await startEmbeddedPostgres(folder, log)
const { url: databaseUrl } = postgres
const { client, key } = await openMigrated(databaseUrl)
const start = (program: string) => startServer(program, databaseUrl, key)
const service = await start('dist/src/main.js')
// Where `npm run build` of this package puts it.
const baseline = await start('tools/bench/dist/tools/bench/servers/baseline.js')

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

const results: Result[] = []
for (const work of works) {
  const result: Result = { title: work.title, service: [], baseline: [] }
  console.error(work.title)
  for (let round = 1; round <= rounds; round++) {
    result.service.push(await measure(service, work))
    result.baseline.push(await measure(baseline, work))
  }
  results.push(result)
}

service.stop()
baseline.stop()
await client.end()
const [version] = await query(databaseUrl, 'SHOW server_version')
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const text = await report(results, rounds, String(version?.['server_version']))
console.log(text)
writeFileSync('tools/bench/RESULTS.md', text)
