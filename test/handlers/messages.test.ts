import t from 'tap'
import type pg from 'pg'
import { messageHandlers } from '../../src/handlers/messages.ts'
import {
  connect,
  createDatabase,
  openDatabase,
  query
} from '../support/database.ts'
import {
  createDocumentedRole,
  documentedSql
} from '../support/documented-sql.ts'
import { measured } from '../support/metrics.ts'

const page = 'docs/messages.md'
const url = await createDatabase(t)
const consumer = await createDocumentedRole(t, page, 'consumer', url)
t.beforeEach(() => query(url, 'TRUNCATE messages'))

/** Stores a message that is this old. */
const store = (message: string, status: string, age: string) =>
  query(
    url,
    `INSERT INTO messages (id, message, status, created_at)
     VALUES (gen_random_uuid(), $1, $2, now() - $3::interval)`,
    [message, status, age]
  )

/** The messages that a consumer takes, as documented. */
async function takenBy(client: pg.Client): Promise<string[]> {
  const take = documentedSql(page, 'WITH taken')
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

t.test('the queue is measured', async (t) => {
  const database = openDatabase(t, url)
  messageHandlers(database)
  const oldestAge = () => measured(database, 'messages_oldest_queued_seconds')
  t.equal(await oldestAge(), 0)

  await store('new', 'queued', '0')
  await store('waits', 'queued', '3 minutes')
  await store('old', 'done', '31 days')
  const age = await oldestAge()
  t.ok(age >= 180 && age < 86_400, `${age} s`)
})

t.test(
  'a consumer deletes old messages, and may do nothing else',
  async (t) => {
    await store('new', 'done', '29 days')
    await store('old', 'done', '31 days')
    await store('waits', 'queued', '31 days')

    await query(consumer, documentedSql(page, 'DELETE'))
    t.same(
      await query(consumer, 'SELECT message FROM messages ORDER BY message'),
      [{ message: 'new' }, { message: 'waits' }]
    )

    const forbidden = ["UPDATE messages SET message = 'x'", 'TABLE api_keys']
    for (const statement of forbidden)
      await t.rejects(query(consumer, statement), { code: '42501' }, statement)
  }
)
