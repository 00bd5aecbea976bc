// What operations cost when the tables grow: in pages of tables and indexes that
// PostgreSQL visits, because time depends on the machine.
import { randomUUID } from 'node:crypto'
import type { QueryResultRow } from 'pg'
import t from 'tap'
import { makeDeleteExpiredIdempotencyKeys } from '../../src/creates/expired-idempotency-keys.ts'
import type { Statement } from '../../src/postgres/database.ts'
import { beginTransaction, connect } from '../../test/support/database.ts'
import { get, idempotencyKey, post } from '../../test/support/requests.ts'
import { startService } from '../../test/support/service.ts'

/** The newest hundred pets are the only sold ones. */
const addRowsSql = (count: number, rows = `generate_series(1, ${count}) n`) => `
  SET session_replication_role = replica;
  INSERT INTO categories (name) SELECT n FROM ${rows};
  INSERT INTO orders (pet_id) SELECT n FROM ${rows};
  INSERT INTO messages (id, message)
  SELECT uuid_v7(), n FROM ${rows};
  UPDATE pets SET status = 'available' WHERE status = 'sold';
  INSERT INTO pets (name, category_id, status)
  SELECT n, n, CASE WHEN n > ${count} - 100 THEN 'sold' ELSE 'available' END
  FROM ${rows};
  INSERT INTO idempotency_keys
  SELECT sha256(n::text::bytea), '', '', now() - n * interval '2 min'
  FROM generate_series(${count}, 2 * ${count}) AS n;
  RESET session_replication_role`

/** What a transaction has visited, its foreign keys included. */
const visitedSql = `
  SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS pages,
    pg_stat_force_next_flush()
  FROM pg_class
  WHERE relnamespace = 'public'::regnamespace`

/** Paths, and what is created there. */
const operations: [path: string, payload?: object][] = [
  ['pets?after=5000'],
  ['pets?status=sold'],
  ['pets/5000'],
  ['store/orders'],
  ['categories', { name: 'Rabbit' }],
  ['messages', { message: 'Hello' }],
  ['pets', { name: 'Milo', categoryId: 5000, status: 'pending' }]
]

t.test('operations cost as much on 10^6 rows as on 10^4', async (t) => {
  const service = await startService(t)
  const { database, databaseUrl } = service
  const client = await connect(t, databaseUrl)
  await client.query('SET plan_cache_mode = force_generic_plan')
  const costs: number[] = []
  const measure = async <Row extends QueryResultRow>(
    { name, text }: Statement,
    values: unknown[]
  ) => {
    await client.query('BEGIN')
    const { rows } = await client.query<Row>({ name, text, values })
    const visited = await client.query<{ pages: number }>(visitedSql)
    costs.push(Number(visited.rows[0]?.pages))
    await client.query('COMMIT')
    return rows
  }
  database.read = measure
  database.write = measure

  const small = new Map<string, number>()
  /** Compares the median of the costs with that on fewer rows. */
  function compare(what: string) {
    const pages = Number(costs.sort((a, b) => a - b)[costs.length >> 1])
    const before = small.get(what) ?? pages
    small.set(what, pages)
    // An index of 10^6 rows has one level more: four pages in place of three.
    // Rows may happen to be on one page more.
    t.ok(pages <= 1.5 * before + 1, `${what}: ${before} → ${pages} pages`)
    costs.length = 0
  }

  for (const count of [10_000, 990_000]) {
    await client.query(addRowsSql(count))
    await client.query('VACUUM ANALYZE')
    for (const [path, payload] of operations) {
      for (let n = 0; n < 21; n++) {
        const { statusCode, body } = payload
          ? await post(service, path, payload, idempotencyKey(randomUUID()))
          : await get(service, path)
        if (statusCode > 202) throw new Error(body)
      }
      compare(path)
    }
  }

  // As a backup does, this keeps what is removed.
  const level = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'
  await beginTransaction(t, databaseUrl, `${level}; SELECT FROM categories`)
  await makeDeleteExpiredIdempotencyKeys(database)()
  const removals = costs.splice(0)
  t.ok(removals.length > 1990)
  for (const some of [removals.slice(0, 21), removals.slice(-22, -1)]) {
    costs.push(...some)
    compare('removals')
  }
})
