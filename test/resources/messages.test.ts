import t from 'tap'
import type pg from 'pg'
import { connect, query } from '../support/database.ts'
import { documentedSql } from '../support/documented-sql.ts'
import { post, result } from '../support/requests.ts'
import { startService } from '../support/service.ts'

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
    await result(post(service, 'messages', { message })),
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

t.test('consumers take messages that no other has taken', async (t) => {
  const { databaseUrl } = await startService(t)
  await query(
    databaseUrl,
    `
      INSERT INTO messages (id, message)
      SELECT gen_random_uuid(), 'm' || n
      FROM generate_series(1, 2) AS n
    `
  )
  const first = await connect(t, databaseUrl)
  const second = await connect(t, databaseUrl)

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
