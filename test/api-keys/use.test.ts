import pg from 'pg'
import t, { type Test } from 'tap'
import { createDatabase, lockTable, query } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

const list = async ({ app, auth }: Service) => (await app.inject({ url: '/v1/categories', headers: auth })).statusCode
const noting = "FROM pg_stat_activity WHERE query LIKE 'UPDATE api_keys%' AND datname = current_database()"

async function lockRow(t: Test, databaseUrl: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN; SELECT FROM api_keys FOR UPDATE')
}

t.test('the use of a key whose row is locked is skipped: nothing waits', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl, config: { DATABASE_TIMEOUT: 60_000, DATABASE_POOL_SIZE: 1 } })
  await lockRow(t, databaseUrl)
  t.equal(await list(service), 200)
  while ((await query(databaseUrl, `SELECT ${noting} AND state = 'idle'`)).length === 0);
  t.equal(await list(service), 200)
  t.same(await query(databaseUrl, 'SELECT last_used_at FROM api_keys'), [{ last_used_at: null }])
})

t.test('while api_keys cannot be written to, requests are served and one connection at most waits', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl, config: { DATABASE_TIMEOUT: 2000, DATABASE_POOL_SIZE: 2 } })
  const lock = await lockTable(t, databaseUrl, 'api_keys IN SHARE MODE')
  const seen = new Set<unknown>()
  // Three attempts, each longer than two intervals of the refresh.
  while (seen.size < 3) {
    if ((await list(service)) !== 200) return t.fail('a list was not served')
    const waiting = await query(databaseUrl, `SELECT pid ${noting} AND wait_event_type = 'Lock'`)
    if (waiting.length > 1) return t.fail(`${waiting.length} connections wait`)
    for (const { pid } of waiting) seen.add(pid)
  }
  await lock.release()
  const used = 'SELECT FROM api_keys WHERE last_used_at IS NOT NULL'
  while ((await query(databaseUrl, used)).length === 0) await list(service)
  return t.pass('the use is recorded as soon as it can be')
})
