import t, { type Test } from 'tap'
import { query, storedNames } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import { list } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Two servers, of which the second subscribes to the lists of the first. */
async function startSubscription(t: Test) {
  const settings = { wal_level: 'logical' }
  const publisher = await startPostgres(t, settings)
  const subscriber = await startPostgres(t, settings)
  await query(
    publisher.url,
    'CREATE PUBLICATION lists FOR TABLE categories, pets, orders'
  )
  await query(
    subscriber.url,
    `CREATE SUBSCRIPTION lists
     CONNECTION 'host=127.0.0.1 port=${publisher.port} user=postgres'
     PUBLICATION lists`
  )
  return { publisher: publisher.url, subscriber: subscriber.url }
}

const listedNames = async (service: Service) =>
  (await list(service)).json<{ name: string }[]>().map(({ name }) => name)

t.test('a list shows what a subscription applies', async (t) => {
  const { publisher, subscriber } = await startSubscription(t)
  const service = await startService(t, { databaseUrl: subscriber })

  const changes = [
    { sql: "INSERT INTO categories (name) VALUES ('a')", names: ['a'] },
    { sql: "INSERT INTO categories (name) VALUES ('b')", names: ['a', 'b'] },
    { sql: "UPDATE categories SET name = 'c' WHERE id = 1", names: ['c', 'b'] },
    { sql: 'DELETE FROM categories WHERE id = 1', names: ['b'] },
    { sql: 'TRUNCATE categories CASCADE', names: [] }
  ]
  for (const { sql, names } of changes) {
    // The service remembers the list as it was before the change.
    const before = await list(service)
    const etag = String(before.headers.etag)
    await query(publisher, sql)
    await until(
      async () => String(await storedNames(subscriber)) === String(names),
      `the subscriber has applied: ${sql}`
    )

    const conditional = await list(service, { 'if-none-match': etag })
    t.equal(conditional.statusCode, 200, sql)
    t.same(await listedNames(service), names, sql)
  }
})
