// Measures this service beside its peers, and writes docs/performance.md. `--quick` measures less, and writes nothing.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../../src/postgres/database.ts'
import { startEmbeddedPostgres } from '../../src/postgres/embedded/embedded.ts'
import { keyStore } from '../../src/api-keys/store.ts'
import { createLogger } from '../../src/log.ts'
import { createTemplate, dropDatabase, urlOf } from '../../test/support/database.ts'
import { measureBigList } from './big.ts'
import { latency, type Target, throughput } from './load.ts'
import { findPgbench, pgbench } from './pgbench.ts'
import { plans, titleOf, type Work } from './plan.ts'
import { report, type Results, type Sample, writeReport } from './report.ts'
import { type Server, type ServerName, servers, startServer } from './servers.ts'

const isQuick = process.argv.includes('--quick')
const plan = plans[isQuick ? 'quick' : 'full']
const logger = createLogger('warn')

const given = process.env['DATABASE_URL']
const directory = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))
const embedded = given === undefined ? await startEmbeddedPostgres(directory, logger) : undefined
const postgres = given ?? embedded?.url ?? ''
const databaseName = await createTemplate(postgres)
const databaseUrl = urlOf(postgres, databaseName)

const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 60_000 }, logger)
const key = await keyStore(database, 'bench').create('benchmark')
const client = new pg.Client({ connectionString: databaseUrl })
await client.connect()

/** Makes the table hold so many categories, half of them with a description. */
async function fill(rows: number): Promise<void> {
  await client.query('TRUNCATE categories RESTART IDENTITY')
  await client.query(
    `INSERT INTO categories (name, description)
     SELECT 'Category ' || n, CASE WHEN n % 2 = 0 THEN 'A short description of category ' || n END FROM generate_series(1, $1::int) AS n`,
    [rows]
  )
  await client.query('VACUUM ANALYZE categories')
}

/** Takes away again what is created, so that lists stay as long as they are; gives the way to stop. */
function trim(rows: number): () => Promise<void> {
  let stopped = false
  const trimming = (async () => {
    while (!stopped) {
      await client.query('DELETE FROM categories WHERE id > $1', [rows])
      await setTimeout(100)
    }
  })()
  return () => {
    stopped = true
    return trimming
  }
}

async function measure(server: Server, { kind, rows, connections }: Work, seconds: number): Promise<Sample> {
  await fill(rows)
  await server.settle(key)
  const target: Target = { url: server.url, key, kind, connections }
  const stopTrimming = kind === 'mixed' ? trim(rows) : undefined
  await throughput(target, seconds / 4)
  const before = await server.usage()
  const startedAt = performance.now()
  const { rate, failures } = await throughput(target, seconds)
  const elapsed = performance.now() - startedAt
  const after = await server.usage()
  await stopTrimming?.()
  await server.settle(key)
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system
  return { rate, failures, cpuPerRequest: cpu / ((rate * elapsed) / 1000), rss: after.rss }
}

const progress = (text: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

const started = new Map<ServerName, Server>()
for (const name of new Set(plan.works.flatMap((work) => work.servers))) {
  progress(`start ${servers[name].title}`)
  started.set(name, await startServer(name, databaseUrl))
}
const serverOf = (name: ServerName) => started.get(name) as Server

progress('warm up')
for (const name of started.keys()) {
  for (const kind of ['list', 'create'] as const) {
    await measure(serverOf(name), { kind, rows: 100, connections: 64, servers: [] }, 1)
  }
}

const results: Results = { works: [], latencies: [], pgbench: new Map(), bigList: undefined }
for (const [index, work] of plan.works.entries()) {
  const samples = new Map<ServerName, Sample[]>(work.servers.map((name) => [name, []]))
  for (let round = 1; round <= plan.rounds; round++) {
    for (const name of work.servers) {
      const sample = await measure(serverOf(name), work, plan.seconds)
      samples.get(name)?.push(sample)
      progress(
        `${index + 1}/${plan.works.length} ${titleOf(work)}, round ${round}: ${servers[name].title} ${Math.round(sample.rate)}/s`
      )
    }
  }
  results.works.push({ work, samples })
}

for (const work of plan.latencies) {
  const measured = results.works.find((one) => titleOf(one.work) === titleOf(work))
  for (const name of ['service', 'ceiling', 'plain', 'express'] as const) {
    await fill(work.rows)
    await serverOf(name).settle(key)
    const rates = (measured?.samples.get(name) ?? []).map(({ rate }) => rate).sort((a, b) => a - b)
    const rate = (rates[rates.length >> 1] as number) / 2
    const stopTrimming = work.kind === 'mixed' ? trim(work.rows) : undefined
    const times = await latency({ ...work, url: serverOf(name).url, key }, rate, 5)
    await stopTrimming?.()
    progress(`latency of ${titleOf(work)} at ${Math.round(rate)}/s: ${servers[name].title} ${times.p50.toFixed(1)} ms`)
    results.latencies.push({ work, name, rate, ...times })
  }
}

const program = await findPgbench()
for (const connections of program === undefined ? [] : [1, 64]) {
  await fill(100)
  results.pgbench.set(connections, await pgbench(program as string, databaseUrl, connections, Math.ceil(plan.seconds)))
  progress(`pgbench, ${connections} connections: ${Math.round(results.pgbench.get(connections) as number)}/s`)
}

if (plan.bigList > 0) {
  progress(`fill the table with ${plan.bigList} rows`)
  await fill(plan.bigList)
  results.bigList = await measureBigList(serverOf('service'), key, plan.bigList)
}

for (const server of started.values()) await server.stop()
const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
await client.end()
await database.close()
await dropDatabase(postgres, databaseName)
await embedded?.stop()
rmSync(directory, { recursive: true, force: true })

const postgresTitle = `${rows[0]?.server_version} (${embedded ? 'embedded' : 'given by DATABASE_URL'})`
const tables = report(plan, results, postgresTitle)
console.log(tables)
if (!isQuick) await writeReport(tables, results)
