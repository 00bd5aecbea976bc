import t from 'tap'
import { query } from './support/database.ts'
import {
  createDocumentedRole,
  documentedSql
} from './support/documented-sql.ts'
import { get } from './support/requests.ts'
import { startService } from './support/service.ts'

const service = await startService(t)
const { databaseUrl } = service
const run = (sql: string) => query(databaseUrl, sql)
await run(
  `INSERT INTO categories (name) VALUES ('Dog');
   INSERT INTO pets (name, category_id, status)
   VALUES ('Bella', 1, 'available')`
)
t.test('orders that another system writes are listed', async (t) => {
  const shop = await createDocumentedRole(t, 'shop', databaseUrl)
  const insert = documentedSql('INSERT')
  await query(shop, `${insert}; ${insert}; ${documentedSql('UPDATE')}`)

  const order = {
    petId: 1,
    quantity: 1,
    shipDate: '2030-01-31T12:00:00.000Z'
  }
  const first = await get(service, 'store/orders?limit=1')
  t.same(first.json(), [{ id: 1, ...order, complete: true }])
  t.equal(first.headers.link, '<?limit=1&after=1>; rel="next"')
  const last = await get(service, 'store/orders?limit=1&after=1')
  t.same(last.json(), [{ id: 2, ...order, complete: false }])
  t.equal(last.headers.link, undefined)
})
