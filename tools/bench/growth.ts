// Measures what requests cost PostgreSQL while their tables grow, on the server
// of DATABASE_URL, which runs on this machine, and writes GROWTH.md. `--large`
// adds ten million rows.
import { writeFileSync } from 'node:fs'
import type { Client } from 'pg'
import { format } from 'prettier'
import { empty, query, urlOf } from '../../test/support/database.ts'
import { openMigrated } from './database.ts'
import { get, post, type Work } from './plan.ts'
import { conditions, table } from './report.ts'
import { cpuOf, ownProgram, type Server, startServer } from './servers.ts'
import { growTables } from './shop.ts'
import { loadByWrk } from './wrk.ts'

const rounds = 5
const sizes = [1e4, 1e6, ...(process.argv.includes('--large') ? [1e7] : [])]

/** A figure is marked if it is so many times that of the fewest rows. */
const maxGrowth = 1.5

/** Microseconds of CPU, by the title of the work. */
type Figures = Record<string, number>

function worksOf(size: number): Work[] {
  const createPet = post('/pets', { name: 'Milo', categoryId: 1 })
  const requests = {
    'first page': get('/pets?limit=100'),
    'deep page': get(`/pets?limit=100&after=${size / 2}`),
    'page by status': get('/pets?status=sold&limit=100'),
    'one pet': get(`/pets/${size / 2}`),
    'create a pet': createPet,
    'create a pet with a key': createPet
  }

  return Object.entries(requests).map(([title, request]) => ({
    title,
    requests: [request],
    connections: 64,
    rows: size,
    hasKeys: title.includes('key')
  }))
}

/** Microseconds of CPU of the other sessions of the database, by process. */
async function sessionsCpu(client: Client): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`
  )
  return new Map(rows.map(({ pid }) => [pid, cpuOf(pid)]))
}

/** What the sessions have used since then. One that has ended was idle. */
async function usedSince(
  before: Map<number, number>,
  client: Client
): Promise<number> {
  const after = [...(await sessionsCpu(client))]
  return after.reduce(
    (sum, [pid, cpu]) => sum + cpu - (before.get(pid) ?? 0),
    0
  )
}

/** The lowest CPU time of a request: other work only adds to it. */
async function measureWork(
  work: Work,
  { url }: Server,
  client: Client,
  key: string
): Promise<number> {
  const samples: number[] = []
  await loadByWrk(url, key, work)
  for (let round = 1; round <= rounds; round++) {
    const sessions = await sessionsCpu(client)
    const { requests } = await loadByWrk(url, key, work)
    samples.push((await usedSince(sessions, client)) / requests)
  }
  return Math.round(Math.min(...samples))
}

/** Measures all works on a new database of so many rows in each table. */
async function measureSize(server: string, size: number): Promise<Figures> {
  const name = `petcat_growth_${size}`
  await query(server, `DROP DATABASE IF EXISTS ${name}`)
  await query(server, `CREATE DATABASE ${name} ${empty}`)
  const url = urlOf(server, name)
  const { database, client, key } = await openMigrated(url)
  await database.close()
  await growTables(client, {
    categories: 1000,
    pets: size,
    idempotency_keys: size
  })

  const service = await startServer(ownProgram, url, key)
  const figures: Figures = {}
  for (const work of worksOf(size)) {
    console.error(`${size} rows: ${work.title}`)
    figures[work.title] = await measureWork(work, service, client, key)
  }
  service.stop()

  await client.end()
  await query(server, `DROP DATABASE ${name} WITH (FORCE)`)

  return figures
}

const { DATABASE_URL: server } = process.env
if (server === undefined) throw new Error('set DATABASE_URL')
const columns: Figures[] = []
for (const size of sizes) columns.push(await measureSize(server, size))

const rows = Object.entries(columns[0] ?? {}).map(([title, first]) => {
  const cells = columns.map(({ [title]: figure = NaN }) => {
    const text = figure.toLocaleString('en')
    return figure > maxGrowth * first ? `**${text}**` : text
  })
  return [title, ...cells]
})
const titles = sizes.map((size) => `${size.toLocaleString('en')} rows`)
const [version] = await query(server, 'SHOW server_version')
const text = `# Growth

Written by \`npm run bench -- --growth\`: microseconds of CPU of PostgreSQL for a request at 64 connections, by the rows of each table; the lowest of ${rounds} rounds. Bold: more than ${maxGrowth} times the figure of the fewest rows.

${conditions(String(version?.['server_version']))}

${table(['work', ...titles], rows)}
`
writeFileSync(
  'tools/bench/GROWTH.md',
  await format(text, { parser: 'markdown' })
)
console.log(text)
