import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, lockAwaited, query } from '../support/database.ts'
import { get } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'

const [, insert = '', complete = '', grant = ''] =
  /```sql\n(INSERT[^`]*)```[^]*```sql\n(UPDATE[^`]*)```[^]*```sql\n(GRANT[^`]*)```/.exec(
    readFileSync('docs/orders.md', 'utf8')
  ) ?? []

/** A service with the pet 1. */
async function start(t: Test) {
  const service = await startService(t)
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name) VALUES ('Dog');
     INSERT INTO pets (name, category_id, status) VALUES ('Bella', 1, 'available')`
  )
  return service
}

const list = (service: Service, headers = {}) =>
  get(service, 'store/orders', headers)
const cancel = ({ app, auth }: Service, id: number) =>
  app.inject({ method: 'DELETE', url: `/v1/store/orders/${id}`, headers: auth })

t.test(
  'an order that another system writes as documented is listed, and unchanged lists are a 304',
  async (t) => {
    const service = await start(t)
    t.equal((await list(service)).body, '[]')
    const role = `petcat_test_shop_${process.pid}`
    t.teardown(() =>
      query(service.databaseUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
    )
    await query(
      service.databaseUrl,
      `CREATE ROLE ${role}; ${grant.replace(/shop$/m, role)}`
    )
    await query(service.databaseUrl, `SET ROLE ${role}; ${insert}; ${complete}`)
    await query(
      service.databaseUrl,
      `INSERT INTO orders (id, pet_id, quantity) VALUES (9223372036854775807, 1, 3)`
    )
    const { body, headers } = await list(service)
    t.equal(
      body,
      '[{"id":1,"petId":1,"quantity":1,"shipDate":"2030-01-31T12:00:00.000Z","complete":true},' +
        '{"id":9223372036854775807,"petId":1,"quantity":3,"complete":false}]'
    )
    t.equal(
      (await list(service, { 'if-none-match': headers.etag })).statusCode,
      304
    )
  }
)

t.test(
  'an order is cancelled once, unless it is complete or shipped',
  async (t) => {
    const service = await start(t)
    await query(
      service.databaseUrl,
      `INSERT INTO orders (pet_id, ship_date, complete) VALUES
       (1, NULL, false), (1, now() + interval '1 hour', false), (1, now(), false), (1, NULL, true)`
    )
    for (const id of [1, 2]) {
      t.match(await cancel(service, id), { statusCode: 204, body: '' })
      t.match((await cancel(service, id)).json(), {
        code: 'not_found',
        status: 404
      })
    }
    for (const id of [3, 4])
      t.match((await cancel(service, id)).json(), {
        code: 'order_not_cancellable',
        status: 409
      })
    t.same(
      await query(service.databaseUrl, 'SELECT id FROM orders ORDER BY id'),
      [{ id: '3' }, { id: '4' }]
    )
  }
)

for (const [change, expected] of [
  ['DELETE FROM orders', 404],
  ['UPDATE orders SET complete = true', 409],
  ['UPDATE orders SET quantity = 2', 204]
] as const) {
  t.test(
    `a cancellation that waits for the commit of "${change}" gets ${expected}`,
    async (t) => {
      const service = await start(t)
      await query(service.databaseUrl, 'INSERT INTO orders (pet_id) VALUES (1)')
      const other = await connect(t, service.databaseUrl)
      await other.query(`BEGIN; ${change}`)
      const response = cancel(service, 1)
      await lockAwaited(service.databaseUrl)
      await other.query('COMMIT')
      t.equal((await response).statusCode, expected)
    }
  )
}
