// Measures what requests and tasks cost while their tables grow, on the server
// of DATABASE_URL, which runs on this machine, and writes GROWTH.md.
// `--large` adds ten million rows.
import { writeFileSync } from 'node:fs'
import type { Client } from 'pg'
import { format } from 'prettier'
import { removalOfExpiredIdempotencyKeys } from '../../src/framework/creates/expired-idempotency-keys.ts'
import type { Database } from '../../src/framework/postgres/database.ts'
import { empty, query, urlOf } from '../../test/support/database.ts'
import { documentedSql } from '../../test/support/documented-sql.ts'
import { openMigrated } from './database.ts'
import { get, post, type Work } from './plan.ts'
import { conditions } from './report.ts'
import { cpuOf, programs, type Server, startServer } from './servers.ts'
import { expireKeys, growTables } from './shop.ts'
import { loadByWrk } from './wrk.ts'

const rounds = 5
const sizes = [1e4, 1e6, ...(process.argv.includes('--large') ? [1e7] : [])]

/** A figure is marked if it is so many times that of the fewest rows. */
const maxGrowth = 1.5

/** Messages done before a vacuum (migrations/0003_vacuum_of_messages.sql). */
const maxDone = 50_000

/** Microseconds of CPU, by what took them. */
type Figures = Record<string, number>

function worksOf(size: number): Work[] {
  const createPet = post('/pets', { name: 'Milo', categoryId: 1 })
  const work = { connections: 64, rows: size }

  return [
    { title: 'first page', requests: [get('/pets?limit=100')] },
    {
      title: 'deep page',
      requests: [get(`/pets?limit=100&after=${size / 2}`)]
    },
    { title: 'page by status', requests: [get('/pets?status=sold&limit=100')] },
    { title: 'one pet', requests: [get(`/pets/${size / 2}`)] },
    { title: 'create a pet', requests: [createPet] },
    {
      title: 'create a pet with a key',
      requests: [createPet],
      hasKeys: true
    }
  ].map((one) => ({ ...work, ...one }))
}

/** Microseconds of CPU of the other sessions of the database, by process. */
async function sessionsCpu(client: Client): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`
  )
  return new Map(rows.map(({ pid }) => [pid, cpuOf(pid)]))
}

/** What the sessions have used since then; NaN if one of them has ended. */
async function usedSince(
  before: Map<number, number>,
  client: Client
): Promise<number> {
  const after = await sessionsCpu(client)
  const sum = (values: Iterable<number>) =>
    [...values].reduce((total, value) => total + value, 0)
  const hasEnded = [...before.keys()].some((pid) => !after.has(pid))
  return hasEnded ? NaN : sum(after.values()) - sum(before.values())
}

/** The lowest figure of each column: other work only adds to the CPU time. */
const lowest = (samples: number[][]): number[] =>
  (samples[0] ?? []).map((_, column) =>
    Math.round(Math.min(...samples.map((sample) => Number(sample[column]))))
  )

/** Measures requests in rounds. */
async function measureWork(
  work: Work,
  server: Server,
  client: Client,
  key: string
): Promise<Figures> {
  const samples: number[][] = []
  await loadByWrk(server.url, key, work)
  while (samples.length < rounds) {
    const service = server.cpu()
    const sessions = await sessionsCpu(client)
    const { requests } = await loadByWrk(server.url, key, work)
    const used = await usedSince(sessions, client)
    if (Number.isNaN(used)) continue
    samples.push([(server.cpu() - service) / requests, used / requests])
  }
  const [service = NaN, sessions = NaN] = lowest(samples)

  return {
    [`${work.title}, service`]: service,
    [`${work.title}, PostgreSQL`]: sessions
  }
}

/** Takes 100 messages, when many are done since the last vacuum. */
async function measureConsumer(client: Client, size: number): Promise<Figures> {
  const text = documentedSql('docs/messages.md', 'WITH taken')
  const before = Math.min(size / 4, maxDone)
  await client.query(text.replace('LIMIT 100', `LIMIT ${before}`))
  const { rows } = await client.query<{ pid: number }>(
    'SELECT pg_backend_pid() AS pid'
  )
  const samples: number[][] = []
  for (let statement = 0; statement < 20; statement++) {
    const start = cpuOf(rows[0]?.pid)
    await client.query({ name: 'consumer', text })
    samples.push([cpuOf(rows[0]?.pid) - start])
  }
  const [figure = NaN] = lowest(samples)

  return { 'take 100 messages, PostgreSQL': figure }
}

/** Removes all keys, without a vacuum, and beside a dump. */
async function measureRemoval(
  client: Client,
  database: Database,
  size: number
): Promise<Figures> {
  await expireKeys(client)
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT FROM idempotency_keys LIMIT 1')
  const { work } = removalOfExpiredIdempotencyKeys(database)
  // Each of these removes 500, and the first ones plan their statement.
  for (let run = 0; run < 10; run++) await work(AbortSignal.abort())
  const before = await sessionsCpu(client)
  await work(new AbortController().signal)
  const cpu = await usedSince(before, client)
  await client.query('COMMIT')

  const statements = size / 500 - 10
  return { 'remove 500 keys, PostgreSQL': Math.round(cpu / statements) }
}

/** Measures all works on a new database of so many rows in each table. */
async function measureSize(server: string, size: number): Promise<Figures> {
  const name = `petcat_growth_${size}`
  await query(server, `DROP DATABASE IF EXISTS ${name}`)
  await query(server, `CREATE DATABASE ${name} ${empty}`)
  const url = urlOf(server, name)
  const { database, client, key } = await openMigrated(url)
  const tables = ['pets', 'orders', 'messages', 'idempotency_keys']
  await growTables(client, {
    categories: 1000,
    ...Object.fromEntries(tables.map((table) => [table, size]))
  })

  const [program] = programs as [(typeof programs)[0]]
  const service = await startServer(program, url, key)
  const figures = {}
  for (const work of worksOf(size)) {
    console.error(`${size} rows: ${work.title}`)
    Object.assign(figures, await measureWork(work, service, client, key))
  }
  service.stop()
  Object.assign(figures, await measureConsumer(client, size))
  Object.assign(figures, await measureRemoval(client, database, size))

  await database.close()
  await client.end()
  await query(server, `DROP DATABASE ${name} WITH (FORCE)`)

  return figures
}

const { DATABASE_URL: server } = process.env
if (server === undefined) throw new Error('set DATABASE_URL')
const columns: Figures[] = []
for (const size of sizes) columns.push(await measureSize(server, size))

const [base = {}] = columns
const rows = Object.entries(base).map(([title, first]) => {
  const cells = columns.map(({ [title]: figure = NaN }) => {
    const text = figure.toLocaleString('en')
    return figure > maxGrowth * first ? `**${text}**` : text
  })
  return [title, ...cells]
})
const titles = sizes.map((size) => `${size.toLocaleString('en')} rows`)
const table = [
  ['work', ...titles],
  ['---', ...sizes.map(() => '---:')],
  ...rows
]
const [version] = await query(server, 'SHOW server_version')
const text = `# Growth

Written by \`npm run bench -- --growth\`: microseconds of CPU for a request at 64 connections, or for a statement, by the rows of each table; the lowest of ${rounds} rounds. Bold: more than ${maxGrowth} times the figure of the fewest rows. Up to ${maxDone.toLocaleString('en')} messages are done since the last vacuum. All keys are removed without a vacuum, while a snapshot is held.

${conditions(String(version?.['server_version']))}

${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`
writeFileSync(
  'tools/bench/GROWTH.md',
  await format(text, { parser: 'markdown' })
)
console.log(text)
