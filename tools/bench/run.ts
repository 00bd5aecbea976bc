// Compares this service with its ceilings and peers, and writes RESULTS.md. `--quick` measures less and only prints.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createLogger } from '../../src/log.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import {
  createTemplate,
  dropDatabase,
  urlOf
} from '../../test/support/database.ts'
import { measureBigList } from './big.ts'
import { connect } from './database.ts'
import { record, throughput } from './load.ts'
import { type Kind, kinds, plans, titleOf, type Work } from './plan.ts'
import {
  type KeyedResult,
  report,
  type Result,
  type Sample,
  writeReport
} from './report.ts'
import {
  build,
  type Server,
  type ServerName,
  serverNames,
  servers,
  startServer
} from './servers.ts'

const isQuick = process.argv.includes('--quick')
const plan = plans[isQuick ? 'quick' : 'full']
const logger = createLogger('warn')

const given = process.env['DATABASE_URL']
const directory = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))
const embedded =
  given === undefined
    ? await startEmbeddedPostgres(directory, 'service', logger)
    : undefined
const postgres = given ?? embedded?.url ?? ''
const databaseName = await createTemplate(postgres)
const databaseUrl = urlOf(postgres, databaseName)

const key = execFileSync(
  process.execPath,
  ['dist/src/api-keys/cli.js', 'create', '--name', 'benchmark'],
  {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    encoding: 'utf8'
  }
).trim()
const tables = await connect(databaseUrl)

const progress = (text: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

const started = new Map<ServerName, Server>()
const missing: string[] = []
for (const name of serverNames) {
  progress(`start ${servers[name].title}`)
  const reason = build(name)
  if (reason === undefined)
    started.set(name, await startServer(name, databaseUrl, key))
  else missing.push(`${servers[name].title} was not measured: ${reason}.`)
}
const serverOf = (name: ServerName) => started.get(name) as Server
const serversOf = ({ table }: Kind) =>
  [...started.keys()].filter(
    (name) => table === 'categories' || servers[name].hasPets
  )

async function measure(
  name: ServerName,
  { kind, rows, connections }: Work,
  seconds: number
): Promise<Sample> {
  const server = serverOf(name)
  await tables.fill(kind, rows)
  if (name === 'http' || name === 'fastify') {
    server.replay(await record({ url: serverOf('service').url, key, kind }))
  }
  await server.settle()
  const target = { url: server.url, key, kind, connections }
  const stopTrimming = kind === kinds.mixed ? tables.trim(rows) : undefined
  await throughput(target, seconds / 4)
  await server.settle()
  const before = await server.usage()
  const startedAt = performance.now()
  const measured = await throughput(target, seconds)
  const elapsed = performance.now() - startedAt
  const after = await server.usage()
  await stopTrimming?.()
  await server.settle()
  const cpu = after.cpu - before.cpu
  return {
    ...measured,
    cpuPerRequest: cpu / ((measured.rate * elapsed) / 1000),
    rss: after.rss
  }
}

progress('warm up')
for (const name of started.keys()) {
  for (const kind of [kinds.list, kinds.create])
    await measure(name, { kind, rows: 100, connections: 64 }, 1)
}

const results: Result[] = []
for (const [index, work] of plan.works.entries()) {
  const samples = new Map<ServerName, Sample[]>(
    serversOf(work.kind).map((name) => [name, []])
  )
  for (let round = 1; round <= (work.rounds ?? plan.rounds); round++) {
    for (const name of samples.keys()) {
      const sample = await measure(name, work, plan.seconds)
      samples.get(name)?.push(sample)
      const place = `${index + 1}/${plan.works.length} ${titleOf(work)}, round ${round}`
      progress(`${place}: ${servers[name].title} ${Math.round(sample.rate)}/s`)
    }
  }
  results.push({ work, samples })
}

const keyedResults: KeyedResult[] = []
for (const storedKeys of plan.storedKeys) {
  progress(`store ${storedKeys} keys`)
  await tables.storeKeys(storedKeys)
  const rates: KeyedResult = { storedKeys, keyless: [], keyed: [] }
  for (let round = 1; round <= plan.rounds; round++) {
    for (const name of ['keyless', 'keyed'] as const) {
      const { rate, failures } = await measure(
        'service',
        { kind: kinds[name], rows: 100, connections: 64 },
        plan.seconds
      )
      if (failures > 0) throw new Error(`${failures} creates failed`)
      rates[name].push(rate)
      progress(
        `${kinds[name].title}, ${storedKeys} stored keys, round ${round}: ${Math.round(rate)}/s`
      )
    }
  }
  keyedResults.push(rates)
}
await tables.storeKeys(0)

if (plan.bigList > 0) {
  progress(`fill the table with ${plan.bigList} rows`)
  await tables.fill(kinds.list, plan.bigList)
}
const bigList =
  plan.bigList > 0
    ? await measureBigList(serverOf('service'), key, plan.bigList)
    : undefined

for (const server of started.values()) await server.stop()
const serverVersion = await tables.end()
await dropDatabase(postgres, databaseName)
await embedded?.stop()
rmSync(directory, { recursive: true, force: true })

const version = `${serverVersion} (${embedded ? 'embedded' : 'from DATABASE_URL'})`
const text = report(plan, results, missing, keyedResults, bigList, version)
console.log(text)
if (!isQuick) await writeReport(text)
