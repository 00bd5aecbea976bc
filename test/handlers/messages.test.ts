import t, { type Test } from 'tap'
import type pg from 'pg'
import { queueMeasurer } from '../../src/handlers/messages.ts'
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
import { sample } from '../support/metrics.ts'
import { serve } from '../support/process.ts'
import { codeOrStatus, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

interface Message {
  id: string
  message: string
  status: string
  createdAt: string
}

const maxText = `Grüße ${'🐇'.repeat(4090)}`

t.test('a message is stored as the response shows it', async (t) => {
  const service = await startService(t)
  const before = new Date().toISOString()
  const response = await post(service, 'messages', { message: maxText })
  const after = new Date().toISOString()
  t.equal(response.statusCode, 202)

  const { id, createdAt, ...rest } = response.json<Message>()
  t.same(rest, { message: maxText, status: 'queued' })
  t.match(
    id,
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  )
  t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.ok(createdAt >= before)
  t.ok(createdAt <= after)

  const stored = await query(
    service.databaseUrl,
    'SELECT id, message, status, created_at FROM messages'
  )
  t.same(stored, [
    {
      id,
      message: maxText,
      status: 'queued',
      created_at: new Date(createdAt)
    }
  ])
})

t.test('a message of 4,097 characters is rejected', async (t) => {
  const service = await startService(t)
  const message = `${maxText}.`
  t.equal(
    await codeOrStatus(post(service, 'messages', { message })),
    'invalid_request'
  )
  t.same(await query(service.databaseUrl, 'SELECT FROM messages'), [])
})

const take = documentedSql('docs/messages.md', 'WITH taken')

/** The messages that a consumer takes, as documented. */
async function takenBy(consumer: pg.Client): Promise<string[]> {
  const { rows } = await consumer.query<Message>(take)
  return rows.map(({ message }) => message).sort()
}

/** Creates the role of a consumer as documented. Returns its URL. */
const createConsumer = (t: Test, databaseUrl: string) =>
  createDocumentedRole(t, 'docs/messages.md', 'consumer', databaseUrl)

t.test('consumers take messages that no other has taken', async (t) => {
  const { databaseUrl } = await startService(t)
  const consumer = await createConsumer(t, databaseUrl)
  await query(
    databaseUrl,
    `
      INSERT INTO messages (id, message)
      SELECT gen_random_uuid(), 'm' || n
      FROM generate_series(1, 2) AS n
    `
  )
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
  t.same(await query(databaseUrl, statuses), [{ status: 'done' }])
})

/** Queues messages, each a minute older than the one before. */
const queueMessages = (url: string, count: number) =>
  query(
    url,
    `
      INSERT INTO messages (id, message, created_at)
      SELECT gen_random_uuid(), 'm', now() - n * interval '1 minute'
      FROM generate_series(1, $1::integer) AS n
    `,
    [count]
  )

t.test('the queue is measured', async (t) => {
  const url = await createDatabase(t)
  const measure = queueMeasurer(openDatabase(t, url))
  const oldestAge = () => sample('messages_oldest_queued_seconds')

  await measure()
  t.equal(await sample('messages_queued'), 0)
  t.equal(await oldestAge(), 0)

  await queueMessages(url, 3)
  await query(
    url,
    "INSERT INTO messages VALUES (gen_random_uuid(), 'd', 'done', '-infinity')"
  )
  await measure()
  t.equal(await sample('messages_queued'), 3)
  t.ok(Number(await oldestAge()) >= 180)
})

t.test('the length of the queue is counted up to 10000', async (t) => {
  const url = await createDatabase(t)
  await queueMessages(url, 10_001)
  const measure = queueMeasurer(openDatabase(t, url))

  await measure()
  t.equal(await sample('messages_queued'), 10_000)
})

t.test('a service with METRICS_PORT measures the queue', async (t) => {
  const url = await createDatabase(t)
  await queueMessages(url, 2)
  const service = serve(t, { METRICS_PORT: '0', DATABASE_URL: url })
  const [, endpoint = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)

  const length = async () =>
    sample('messages_queued', (await fetch(endpoint)).text())
  await until(async () => (await length()) === 2, 'the queue is measured', 60)
  t.equal(await service.stop(), 0)
})

t.test(
  'a consumer deletes old messages, and may do nothing else',
  async (t) => {
    const { databaseUrl } = await startService(t)
    const consumer = await createConsumer(t, databaseUrl)
    await query(
      databaseUrl,
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

    const forbidden = [
      "INSERT INTO messages (id, message) VALUES (gen_random_uuid(), 'x')",
      "UPDATE messages SET message = 'x'",
      'SELECT FROM api_keys',
      'CREATE TABLE mine ()'
    ]
    for (const statement of forbidden)
      await t.rejects(query(consumer, statement), { code: '42501' }, statement)
  }
)

t.test('without GRANT CONNECT, a consumer cannot connect', async (t) => {
  const { databaseUrl } = await startService(t)
  const consumer = await createConsumer(t, databaseUrl)
  const { username, pathname } = new URL(consumer)
  const database = pathname.slice(1)
  await query(
    databaseUrl,
    `REVOKE CONNECT ON DATABASE ${database} FROM ${username}`
  )
  await t.rejects(query(consumer, 'SELECT'), { code: '42501' })
})
