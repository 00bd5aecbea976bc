// What each statement costs when its tables grow, as PostgreSQL estimates it.
import { readFileSync } from 'node:fs'
import type { Client } from 'pg'
import t, { type Test } from 'tap'
import { expiredKeysRemover } from '../../src/framework/creates/expired-idempotency-keys.ts'
import { measureNextExpiry } from '../../src/framework/keys/next-expiry.ts'
import { apiKeyChecker } from '../../src/framework/keys/verifier.ts'
import { Metrics } from '../../src/framework/metrics.ts'
import { Database } from '../../src/framework/postgres/database.ts'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { api } from '../../src/handlers/index.ts'
import { connect, createDatabase, silent } from '../../test/support/database.ts'
import { documentedSql } from '../../test/support/documented-sql.ts'

/** PostgreSQL compiles a statement of ten times this cost at each execution. */
const maxCost = 10_000

/** How much it may grow while the tables grow a hundredfold. */
const maxGrowth = 1000

/** The table of this page names the statements whose cost grows. */
const page = readFileSync('docs/scaling.md', 'utf8')
const mayGrow = (name: string) => page.includes(`\n| \`${name}\``)

/** The statements of the service, and of a consumer of messages, by name. */
function statementsOf(t: Test, url: string): Map<string, string> {
  const limits = { DATABASE_TIMEOUT_MS: 5000 }
  const database = new Database(url, limits, silent, new Metrics())
  t.teardown(() => database.close())
  apiKeyChecker(database, api.names.apiKeyPrefix)
  api.handlers(database, new ResponseBuffers(0, database.metrics))
  expiredKeysRemover(database)
  measureNextExpiry(database)
  const consumer = documentedSql('docs/messages.md', 'WITH taken')

  return new Map([...database.statements, ['consumer', consumer]])
}

/** Adds some thousand rows to each table, so many times, without checks. */
async function addRows(client: Client, times: number): Promise<void> {
  await client.query(`
    SET session_replication_role = replica;

    INSERT INTO categories (name, description)
    SELECT 'Category ' || n, 'Loyal, needs long walks'
    FROM generate_series(1, 1000 * ${times}) AS n;

    INSERT INTO pets (name, category_id, status)
    SELECT
      'Pet ' || n,
      n / 16,
      CASE WHEN n % 10 = 0 THEN 'sold' ELSE 'available' END
    FROM generate_series(1, 16000 * ${times}) AS n;

    INSERT INTO orders (pet_id, ship_date, complete)
    SELECT
      n,
      now() + interval '1 day',
      n % 2 = 0
    FROM generate_series(1, 5000 * ${times}) AS n;

    INSERT INTO messages (id, message, status)
    SELECT
      time_ordered_uuid(),
      'Hello from the quickstart ' || n,
      CASE WHEN n % 100 = 0 THEN 'queued' ELSE 'done' END
    FROM generate_series(1, 3000 * ${times}) AS n;

    INSERT INTO idempotency_keys (key_hash, body_hash, response, created_at)
    SELECT
      sha256(random()::text::bytea),
      sha256(''),
      '{"id":' || n || ',"name":"Rabbit","description":"Small mammals with long ears"}',
      now() - interval '12 hours' + n * interval '1 ms'
    FROM generate_series(1, 3000 * ${times}) AS n;

    INSERT INTO api_keys (name, hash, shown_part, expires_at, last_used_at)
    SELECT
      'client',
      sha256(random()::text::bytea),
      'petcat_' || random(),
      now() + interval '1 day',
      now()
    FROM generate_series(1, 1000 * ${times}) AS n;

    RESET session_replication_role;
  `)
  await client.query('VACUUM ANALYZE')
}

/** The cost of the plan that a session keeps, whatever the values are. */
async function costOf(client: Client, statement: string): Promise<number> {
  const { rows } = await client.query<{
    'QUERY PLAN': [{ Plan: { 'Total Cost': number } }]
  }>(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${statement}`)
  return Number(rows[0]?.['QUERY PLAN'][0].Plan['Total Cost'])
}

t.test('the cost of a statement does not grow with the tables', async (t) => {
  const url = await createDatabase(t)
  const client = await connect(t, url)
  const statements = statementsOf(t, url)

  await addRows(client, 1)
  const costs = new Map<string, number>()
  for (const [name, text] of statements)
    costs.set(name, await costOf(client, text))

  await addRows(client, 99)
  for (const [name, text] of statements) {
    const before = Number(costs.get(name))
    const cost = await costOf(client, text)
    const isFlat = cost < maxCost && cost - before < maxGrowth
    t.equal(isFlat, !mayGrow(name), `${name}: ${before} → ${cost}`)
  }
})
