import t, { type Test } from 'tap'
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

/** Queues messages, each a minute older than the one before. */
const queueMessages = (url: string, count: number) =>
  query(
    url,
    `INSERT INTO messages (id, message, created_at)
     SELECT gen_random_uuid(), 'm' || n, now() - n * interval '1 minute'
     FROM generate_series(1, $1::integer) AS n`,
    [count]
  )

const take = documentedSql('docs/messages.md', 'WITH taken')

/** The messages that a consumer takes, as documented. */
async function takenBy(consumer: pg.Client): Promise<string[]> {
  const { rows } = await consumer.query<{ message: string }>(take)
  return rows.map(({ message }) => message).sort()
}

/** A database, and its URL for the role of a consumer, as documented. */
async function start(t: Test) {
  const url = await createDatabase(t)
  const page = 'docs/messages.md'
  return { url, consumer: await createDocumentedRole(t, page, 'consumer', url) }
}

t.test('consumers take messages that no other has taken', async (t) => {
  const { url, consumer } = await start(t)
  await queueMessages(url, 2)
  const first = await connect(t, consumer)
  const second = await connect(t, consumer)

  await first.query('BEGIN')
  t.same(await takenBy(first), ['m1', 'm2'])
  await second.query('BEGIN')
  t.same(await takenBy(second), [])

  await first.query('ROLLBACK')
  t.same(await takenBy(second), ['m1', 'm2'], 'the first has failed')
  await second.query('COMMIT')
  t.same(await takenBy(first), [])

  const statuses = 'SELECT DISTINCT status FROM messages'
  t.same(await query(url, statuses), [{ status: 'done' }])
})

t.test('the queue is measured', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  messageHandlers(database)
  const oldestAge = () => measured(database, 'messages_oldest_queued_seconds')
  t.equal(await oldestAge(), 0)

  await queueMessages(url, 3)
  await query(
    url,
    "INSERT INTO messages VALUES (gen_random_uuid(), 'd', 'done', '-infinity')"
  )
  t.ok((await oldestAge()) >= 180)
})

t.test(
  'a consumer deletes old messages, and may do nothing else',
  async (t) => {
    const { url, consumer } = await start(t)
    await query(
      url,
      `
      INSERT INTO messages (id, message, status, created_at)
      VALUES
        (gen_random_uuid(), 'old', 'done', now() - interval '31 days'),
        (gen_random_uuid(), 'waits', 'queued', now() - interval '31 days'),
        (gen_random_uuid(), 'new', 'done', now())
    `
    )

    await query(consumer, documentedSql('docs/messages.md', 'DELETE'))
    t.same(
      await query(consumer, 'SELECT message FROM messages ORDER BY message'),
      [{ message: 'new' }, { message: 'waits' }]
    )

    const forbidden = ["UPDATE messages SET message = 'x'", 'TABLE api_keys']
    for (const statement of forbidden)
      await t.rejects(query(consumer, statement), { code: '42501' }, statement)
  }
)
