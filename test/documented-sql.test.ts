// What other systems do in the database, by the SQL of docs/database.md.
import { readFileSync } from 'node:fs'
import t from 'tap'
import type pg from 'pg'
import { connect, query } from './support/database.ts'
import { get } from './support/requests.ts'
import { startService } from './support/service.ts'

const service = await startService(t)
const { databaseUrl } = service

/** The SQL of the page that starts with these words. */
function documentedSql(start: string): string {
  const page = readFileSync('docs/database.md', 'utf8')
  const pattern = new RegExp(`(?<=\`\`\`sql\\n)${start}[^\`]+`)
  const [statement] = pattern.exec(page) ?? []
  if (statement === undefined) throw new Error(`no SQL of ${start}`)
  return statement
}

/** Creates a role of the page. Returns the URL for it. */
async function createRole(role: string): Promise<string> {
  const username = `petcat_test_${role}_${process.pid}`
  const url = new URL(databaseUrl)
  const sql = documentedSql(`CREATE ROLE ${role}`)
    .replaceAll(new RegExp(`\\b${role}\\b`, 'g'), username)
    .replaceAll('pet_categories', url.pathname.slice(1))
  await query(databaseUrl, sql)
  t.teardown(() =>
    query(databaseUrl, `DROP OWNED BY ${username}; DROP ROLE ${username}`)
  )
  return Object.assign(url, { username, password: 'change-me' }).href
}

const consumer = await createRole('consumer')
t.beforeEach(() => query(databaseUrl, 'TRUNCATE messages'))

/** Stores a message that is this old. */
const store = (message: string, status: string, age: string) =>
  query(
    databaseUrl,
    `INSERT INTO messages (id, message, status, created_at)
     VALUES (gen_random_uuid(), $1, $2, now() - $3::interval)`,
    [message, status, age]
  )

/** The messages that a consumer takes. */
async function takenBy(client: pg.Client): Promise<string[]> {
  const take = documentedSql('WITH taken')
  const { rows } = await client.query<{ message: string }>(take)
  return rows.map(({ message }) => message)
}

t.test('consumers take messages that no other has taken', async (t) => {
  await store('hello', 'queued', '0')
  const first = await connect(t, consumer)
  const second = await connect(t, consumer)

  await first.query('BEGIN')
  t.same(await takenBy(first), ['hello'])
  t.same(await takenBy(second), [])
  await first.query('ROLLBACK')
  t.same(await takenBy(second), ['hello'], 'the first has failed')
  t.same(await takenBy(first), [])
})

t.test('a consumer deletes old messages, and may do no more', async (t) => {
  await store('new', 'done', '29 days')
  await store('old', 'done', '31 days')
  await store('waits', 'queued', '31 days')
  await query(consumer, documentedSql('DELETE'))
  t.same(
    await query(consumer, 'SELECT message FROM messages ORDER BY message'),
    [{ message: 'new' }, { message: 'waits' }]
  )

  const forbidden = ["UPDATE messages SET message = 'x'", 'TABLE api_keys']
  for (const statement of forbidden)
    await t.rejects(query(consumer, statement), { code: '42501' }, statement)
})

t.test('orders that a shop writes are listed', async (t) => {
  await query(
    databaseUrl,
    `INSERT INTO categories (name) VALUES ('Dog');
     INSERT INTO pets (name, category_id, status)
     VALUES ('Bella', 1, 'available')`
  )
  const insert = documentedSql('INSERT')
  const update = documentedSql('UPDATE')
  await query(await createRole('shop'), `${insert}; ${insert}; ${update}`)

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
