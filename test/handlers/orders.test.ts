import t from 'tap'
import { query } from '../support/database.ts'
import {
  createDocumentedRole,
  documentedSql
} from '../support/documented-sql.ts'
import { get, remove } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const service = await startService(t)
const { databaseUrl } = service
const run = (sql: string) => query(databaseUrl, sql)
await run(
  `INSERT INTO categories (name) VALUES ('Dog');
   INSERT INTO pets (name, category_id, status)
   VALUES ('Bella', 1, 'available')`
)
t.beforeEach(() => run('TRUNCATE orders RESTART IDENTITY'))

const listOrders = (page: string) => get(service, `store/orders${page}`)

const cancel = (id: number) => remove(service, `store/orders/${id}`)

const insert = documentedSql('docs/orders.md', 'INSERT')
const complete = documentedSql('docs/orders.md', 'UPDATE')

t.test('orders that another system writes are listed', async (t) => {
  const page = 'docs/orders.md'
  const shop = await createDocumentedRole(t, page, 'shop', databaseUrl)
  await query(shop, `${insert}; ${complete}`)
  await run(
    `INSERT INTO orders (id, pet_id, quantity)
     VALUES (9223372036854775807, 1, 3)`
  )

  const shipped =
    '{"id":1,"petId":1,"quantity":1,' +
    '"shipDate":"2030-01-31T12:00:00.000Z","complete":true}'
  const open =
    '{"id":9223372036854775807,"petId":1,"quantity":3,"complete":false}'
  const first = await listOrders('?limit=1')
  t.equal(first.body, `[${shipped}]`)
  t.equal(first.headers.link, '<?limit=1&after=1>; rel="next"')
  const last = await listOrders('?limit=1&after=1')
  t.equal(last.body, `[${open}]`)
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

const changes = [
  { change: 'DELETE FROM orders', status: 404 },
  { change: 'UPDATE orders SET complete = true', status: 409 },
  { change: 'UPDATE orders SET quantity = 2', status: 204 }
]

/**
 * Ends when another session waits for a lock. The service waits only 250 ms for
 * it, which a commit of this process could miss.
 */
const untilAwaited = `
  DO $$ BEGIN
    LOOP
      PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
      EXIT WHEN EXISTS (
        SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()
      );
    END LOOP;
  END $$`

for (const { change, status } of changes) {
  t.test(
    `a cancellation that waits for "${change}" is ${status}`,
    async (t) => {
      await order('NULL', false)
      const committed = run(`${change}; ${untilAwaited}`)
      const sleeping = () =>
        run(
          `SELECT FROM pg_stat_activity
           WHERE wait_event = 'PgSleep' AND datname = current_database()`
        )
      await until(async () => (await sleeping()).length > 0, 'it is locked')

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
