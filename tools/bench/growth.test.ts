// What each statement costs when its tables grow, as PostgreSQL estimates it.
import { readFileSync } from 'node:fs'
import type { Client, QueryResultRow } from 'pg'
import t, { type Test } from 'tap'
import { expiredKeysRemover } from '../../src/framework/creates/expired-idempotency-keys.ts'
import { measureNextExpiry } from '../../src/framework/keys/next-expiry.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import { apiKeyChecker } from '../../src/framework/keys/verifier.ts'
import { Metrics } from '../../src/framework/metrics.ts'
import {
  Database,
  type Query,
  type Use
} from '../../src/framework/postgres/database.ts'
import { pendingMigrationsFinder } from '../../src/framework/postgres/migrate.ts'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { api } from '../../src/handlers/index.ts'
import { connect, createDatabase, silent } from '../../test/support/database.ts'
import { documentedSql } from '../../test/support/documented-sql.ts'
import { expireKeys, growTables } from './shop.ts'

const few = {
  categories: 1000,
  pets: 16_000,
  orders: 5000,
  messages: 3000,
  idempotency_keys: 3000,
  api_keys: 1000
}
const many = Object.fromEntries(
  Object.entries(few).map(([table, rows]) => [table, 100 * rows])
)

/** PostgreSQL compiles a statement of ten times this cost at each execution. */
const maxCost = 10_000

/** How much it may grow while the tables grow a hundredfold. */
const maxGrowth = 1000

/** Messages done before a vacuum (migrations/0003_vacuum_of_messages.sql). */
const maxDone = 50_000

/** The table of this page names the statements whose cost grows. */
const page = readFileSync('docs/scaling.md', 'utf8')
const mayGrow = (name: string) => page.includes(`\n| \`${name}\``)

/** Also notes the statements without a name, by the name of their command. */
class RecordingDatabase extends Database {
  command = ''

  override run<Row extends QueryResultRow>(
    use: Use,
    query: Query,
    values?: unknown[]
  ): Promise<Row[]> {
    this.statements.set(query.name ?? this.command, query.text)
    return super.run(use, query, values)
  }
}

/** All statements of the service, of its commands, and of a consumer. */
async function allStatements(t: Test, url: string) {
  const limits = { DATABASE_TIMEOUT_MS: 5000 }
  const database = new RecordingDatabase(url, limits, silent, new Metrics())
  t.teardown(() => database.close())

  const { apiKeyPrefix } = api.names
  apiKeyChecker(database, apiKeyPrefix)
  api.handlers(database, new ResponseBuffers(0, database.metrics))
  pendingMigrationsFinder(database, api.migrationsFolder)
  expiredKeysRemover(database)
  measureNextExpiry(database)

  const store = new ApiKeyStore(database, apiKeyPrefix, silent)
  const commands = {
    create: () => store.create('a client'),
    list: () => store.list(),
    rotate: () => store.rotate('1', '24h'),
    revoke: () => store.revoke('1')
  }
  for (const [name, run] of Object.entries(commands)) {
    database.command = `keys ${name}`
    await run()
  }
  const consumer = documentedSql('docs/messages.md', 'WITH taken')

  return new Map([...database.statements, ['consumer', consumer]])
}

/** Prepares a statement. Returns a call with NULL for each parameter. */
async function prepare(client: Client, name: string, text: string) {
  await client.query(`PREPARE "${name}" AS ${text}`)
  const { rows } = await client.query<{ count: number }>(
    `SELECT cardinality(parameter_types) AS count
     FROM pg_prepared_statements WHERE name = $1`,
    [name]
  )
  const nulls = Array<string>(Number(rows[0]?.count)).fill('NULL')
  return `EXECUTE "${name}"` + (nulls.length > 0 ? `(${nulls.join()})` : '')
}

type Plan = Record<string, number>

/** The plan of a call. */
async function explain(client: Client, call: string, options = 'COSTS') {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT JSON, ${options}) ${call}`
  )
  return rows[0]?.['QUERY PLAN'][0].Plan ?? {}
}

const costOf = async (client: Client, call: string) =>
  Number((await explain(client, call))['Total Cost'])

/** Runs a call. Returns how many pages it has read. */
async function readPages(client: Client, call: string): Promise<number> {
  const plan = await explain(client, call, 'ANALYZE, BUFFERS')
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks'])
}

t.test('the cost of a statement does not grow with the tables', async (t) => {
  const url = await createDatabase(t)
  const statements = await allStatements(t, url)
  const client = await connect(t, url)
  // The plan that a session keeps, whatever the values are.
  await client.query('SET plan_cache_mode = force_generic_plan')
  const calls = new Map<string, string>()
  for (const [name, text] of statements)
    calls.set(name, await prepare(client, name, text))

  await growTables(client, few)
  const costs = new Map<string, number>()
  for (const [name, call] of calls) costs.set(name, await costOf(client, call))

  await growTables(client, many)
  for (const [name, call] of calls) {
    const before = Number(costs.get(name))
    const cost = await costOf(client, call)
    const isFlat = cost < maxCost && cost - before < maxGrowth
    t.ok(isFlat || mayGrow(name), `${name}: ${before} → ${cost}`)
    t.notOk(isFlat && mayGrow(name), `${name}: docs/scaling.md is exact`)
  }

  await t.test('a removal reads what it deletes, beside a dump', async (t) => {
    await expireKeys(client)
    const dump = await connect(t, url)
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await dump.query('SELECT FROM idempotency_keys LIMIT 1')
    const name = 'remove-expired-idempotency-keys'
    let from = -Infinity
    const callFrom = () => `EXECUTE "${name}"('${from}')`
    const remove = async () => {
      const deleted = await client.query<{ time: number }>(callFrom())
      from = Math.max(from, ...deleted.rows.map(({ time }) => time))
    }
    await remove()
    const first = await readPages(client, callFrom())
    for (let statement = 0; statement < 200; statement++) await remove()
    const last = await readPages(client, callFrom())
    t.ok(last < 2 * first, `${first} pages, then ${last}`)
  })

  await t.test('a consumer reads few messages that are done', async (t) => {
    const first = await readPages(client, 'EXECUTE consumer')
    const takeMany = String(statements.get('consumer'))
    await client.query(takeMany.replace('LIMIT 100', `LIMIT ${maxDone}`))
    // Marks them in the index, so that the next one skips their rows.
    await client.query('EXECUTE consumer')
    const last = await readPages(client, 'EXECUTE consumer')
    t.ok(last < 2 * first, `${first} pages, then ${last}`)
  })
})
