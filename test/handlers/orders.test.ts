import t from 'tap'
import { connect, query } from '../support/database.ts'
import {
  createDocumentedRole,
  documentedSql
} from '../support/documented-sql.ts'
import { get, remove } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const service = await startService(t)
const { databaseUrl } = service
const run = (sql: string) => query(databaseUrl, sql)
await run(
  `INSERT INTO categories (name) VALUES ('Dog');
   INSERT INTO pets (name, category_id, status)
   VALUES ('Bella', 1, 'available')`
)
t.beforeEach(() => run('TRUNCATE orders RESTART IDENTITY'))

const cancel = (id: number) => remove(service, `store/orders/${id}`)

t.test('orders that another system writes are listed', async (t) => {
  const page = 'docs/orders.md'
  const shop = await createDocumentedRole(t, page, 'shop', databaseUrl)
  const insert = documentedSql(page, 'INSERT')
  await query(shop, `${insert}; ${insert}; ${documentedSql(page, 'UPDATE')}`)

  const order = (id: number, complete: boolean) =>
    `[{"id":${id},"petId":1,"quantity":1,` +
    `"shipDate":"2030-01-31T12:00:00.000Z","complete":${complete}}]`
  const first = await get(service, 'store/orders?limit=1')
  t.equal(first.body, order(1, true))
  t.equal(first.headers.link, '<?limit=1&after=1>; rel="next"')
  const last = await get(service, 'store/orders?limit=1&after=1')
  t.equal(last.body, order(2, false))
  t.equal(last.headers.link, undefined)
})

/** Stores an order of the pet 1. `shipDate` is an expression of SQL. */
const order = (shipDate: string, isComplete: boolean) =>
  run(
    `INSERT INTO orders (pet_id, ship_date, complete)
     VALUES (1, ${shipDate}, ${isComplete})`
  )

t.test('an order is cancelled once, unless complete or shipped', async (t) => {
  await order('NULL', false)
  await order("now() + interval '1 hour'", false)
  await order('now()', false)
  await order('NULL', true)

  for (const [id, status] of [
    [1, 204],
    [1, 404],
    [2, 204],
    [3, 409],
    [4, 409]
  ] as const)
    t.equal((await cancel(id)).statusCode, status)
  t.same(await run('SELECT id FROM orders ORDER BY id'), [
    { id: '3' },
    { id: '4' }
  ])
})

/**
 * Commits when another session waits for a lock. The service waits only 250 ms
 * for it, which a commit of this process could miss.
 */
const commitWhenAwaited = `
  DO $$ BEGIN
    WHILE NOT EXISTS (
      SELECT FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()
    ) LOOP
      PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
    END LOOP;
  END $$;
  COMMIT`

for (const [change, status] of [
  ['DELETE FROM orders', 404],
  ['UPDATE orders SET complete = true', 409]
] as const) {
  t.test(
    `a cancellation that waits for "${change}" is ${status}`,
    async (t) => {
      await order('NULL', false)
      const other = await connect(t, databaseUrl)
      await other.query(`BEGIN; ${change}`)
      const committed = other.query(commitWhenAwaited)
      t.equal((await cancel(1)).statusCode, status)
      await committed
    }
  )
}

t.test(
  'an order that is reopened during its cancellation is a 503',
  async (t) => {
    await order('NULL', false)
    // For the service, the order is closed when it is deleted, and then open.
    await run(
      `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RETURN NULL; END';
       CREATE TRIGGER keep BEFORE DELETE ON orders
         FOR EACH ROW EXECUTE FUNCTION keep()`
    )
    t.equal((await cancel(1)).statusCode, 503)
  }
)

t.test('a cancellation that finds no order commits', async (t) => {
  const snapshot = () => run('SELECT pg_current_snapshot()::text')
  const before = await snapshot()
  t.equal((await cancel(7)).statusCode, 404)
  t.notSame(await snapshot(), before, 'so it waits for a standby')
})
