// The statements that look up rows: what calls get that wait together, and that
// large tables are searched by their indexes.
import t from 'tap'
import { createDatabase, query } from './support/database.ts'
import { successes } from './support/metrics.ts'
import { get, idempotencyKey, statusOrCode, post } from './support/requests.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

const databaseUrl = await createDatabase(t)
const run = (sql: string) => query(databaseUrl, sql)
const rows = 10_000
await run(
  `INSERT INTO categories (name) SELECT 'x' FROM generate_series(1, ${rows});
   INSERT INTO pets (name, category_id, status)
   SELECT n, n, CASE n % 2 WHEN 0 THEN 'sold' ELSE 'available' END
   FROM generate_series(1, ${rows}) AS n;
   INSERT INTO orders (pet_id) SELECT generate_series(1, ${rows});
   INSERT INTO api_keys (name, hash, display_prefix)
   SELECT 'x', sha256(n::text::bytea), '' FROM generate_series(1, ${rows}) AS n;
   INSERT INTO idempotency_keys (key_hash, body_hash, response)
   SELECT sha256(n::text::bytea), '', '' FROM generate_series(1, ${rows}) AS n;
   ANALYZE`
)

t.test('calls that wait share statements', async (t) => {
  const service = await startService(t, { databaseUrl })
  const statementsOf = (name: string) => successes(service.app, name)
  const ids = [7, 3, 99_999, 7, 10_000, 1, 99_999]
  const calls = Array.from({ length: 10 }, () => ids).flat()
  const responses = await Promise.all(
    calls.map((id) => get(service, `pets/${id}`))
  )
  t.same(
    responses.map((one) => one.json<{ id?: number }>().id),
    calls.map((id) => (id > rows ? undefined : id))
  )
  t.ok((await statementsOf('getPet')) < calls.length / 2)

  const pages = Array.from({ length: 100 }, (_, index) => (index % 2) * 50)
  const lists = await Promise.all(
    pages.map((after) => get(service, `pets?limit=1&after=${after}`))
  )
  for (const [index, response] of lists.entries())
    t.match(response.json(), [{ id: pages[index]! + 1 }])
  t.ok((await statementsOf('listPets')) < 25)
})

/** What was read from tables without, and by, an index. */
const readSql = `
  SELECT
    sum(seq_tup_read)::int AS rows,
    (SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes) AS entries
  FROM pg_stat_user_tables
  WHERE relname <> 'applied_migrations'`

t.test('every statement uses its index', async (t) => {
  await run('SELECT pg_stat_reset()')
  // PostgreSQL has counted everything when its connections have ended.
  await t.test('requests', async (t) => {
    const service = await startService(t, { databaseUrl })
    for (const path of [
      'pets/9000',
      'pets?after=9000',
      'pets?status=sold&after=9000',
      'pets?status=pending',
      'store/orders?after=9000'
    ])
      t.equal(await statusOrCode(get(service, path)), 200, path)
    const pet = { name: 'x', categoryId: 9000 }
    for (const expected of [201, '201 replayed'])
      t.equal(
        await statusOrCode(post(service, 'pets', pet, idempotencyKey('plan'))),
        expected
      )
    t.equal(await statusOrCode(post(service, 'pets', pet)), 201)
  })

  let entries = 0
  await until(async () => {
    const [read] = await run(readSql)
    t.equal(read?.['rows'], 0, 'no table was read as a whole')
    entries = Number(read?.['entries'])
    return entries >= 60
  }, 'the reads are counted')
  t.ok(entries < 300, `${entries} entries were read`)
})
