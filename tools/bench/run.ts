// Compares this service with its ceilings and peers, and writes RESULTS.md.
// `--quick` measures less and only prints.
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
import { connect } from './database.ts'
import { type Kind, kinds, plans, titleOf, type Work } from './plan.ts'
import { record } from './record.ts'
import { report, type Result, type Sample, writeReport } from './report.ts'
import {
  build,
  type Server,
  type ServerName,
  serverNames,
  servers,
  startServer
} from './servers.ts'
import { loadByWrk } from './wrk.ts'

const isQuick = process.argv.includes('--quick')
const plan = plans[isQuick ? 'quick' : 'full']
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-bench-'))

const progress = (text: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

async function openPostgres() {
  const url = process.env['DATABASE_URL']
  if (url !== undefined) return { url, isEmbedded: false, stop: async () => {} }

  const logger = createLogger('warn', apiKeyPrefix)
  const embedded = await startEmbeddedPostgres(folder, 'service', logger)

  return { ...embedded, isEmbedded: true }
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
const tables = await connect(databaseUrl)

const started = new Map<ServerName, Server>()
const missing: string[] = []

async function startServers(): Promise<void> {
  for (const name of serverNames) {
    progress(`start ${servers[name].title}`)
    const reason = build(name)
    if (reason === undefined)
      started.set(name, await startServer(name, databaseUrl, key))
    else missing.push(`${servers[name].title} was not measured: ${reason}.`)
  }
}

function serverOf(name: ServerName): Server {
  const server = started.get(name)
  if (server === undefined) throw new Error(`${name} was not started`)
  return server
}

const serversOf = ({ table }: Kind): ServerName[] =>
  [...started.keys()].filter(
    (name) => table === 'categories' || servers[name].hasPets
  )

/** Fills the tables, and gives a bare server what it sends. */
async function prepare(name: ServerName, { kind, rows }: Work): Promise<void> {
  await tables.fill(kind, rows)
  const isBare = name === 'fastify'
  if (isBare) {
    const { url } = serverOf('service')
    serverOf(name).replay(await record({ url, key, kind }))
  }
  await serverOf(name).settle()
}

async function measure(
  name: ServerName,
  work: Work,
  seconds: number
): Promise<Sample> {
  const { kind, rows, connections } = work
  const server = serverOf(name)
  await prepare(name, work)
  const target = { url: server.url, key, kind, connections }
  const stopTrimming = kind === kinds.mixed ? tables.trim(rows) : undefined
  await loadByWrk(target, seconds / 4)
  await server.settle()

  const before = await server.usage()
  const measured = await loadByWrk(target, seconds)
  const after = await server.usage()

  await stopTrimming?.()
  await server.settle()

  return {
    ...measured,
    cpuPerRequest: (after.cpu - before.cpu) / measured.responses,
    rss: after.rss
  }
}

async function warmUp(): Promise<void> {
  progress('warm up')
  for (const name of started.keys()) {
    for (const kind of [kinds.list, kinds.create])
      await measure(name, { kind, rows: 100, connections: 64 }, 1)
  }
}

/** Measures a work on each server, one after the other, in rounds. */
async function measureWork(work: Work, number: number): Promise<Result> {
  const samples = new Map<ServerName, Sample[]>(
    serversOf(work.kind).map((name) => [name, []])
  )
  for (let round = 1; round <= (work.rounds ?? plan.rounds); round++) {
    for (const [name, serverSamples] of samples) {
      const sample = await measure(name, work, plan.seconds)
      serverSamples.push(sample)
      const { title } = servers[name]
      const rate = Math.round(sample.rate)
      progress(
        `${number}/${plan.works.length} ${titleOf(work)}, round ${round}: ` +
          `${title} ${rate}/s`
      )
    }
  }

  return { work, samples }
}

await startServers()
await warmUp()

const results: Result[] = []
for (const [index, work] of plan.works.entries())
  results.push(await measureWork(work, index + 1))

for (const server of started.values()) await server.stop()
const serverVersion = await tables.end()
await dropDatabase(postgres.url, databaseName)
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

const origin = postgres.isEmbedded ? 'embedded' : 'from DATABASE_URL'
const text = report({
  plan,
  results,
  missing,
  postgres: `${serverVersion} (${origin})`
})
console.log(text)
if (!isQuick) await writeReport(text)
