import { readFileSync } from 'node:fs'
import t from 'tap'
import { connect, query } from '../support/database.ts'
import { post, result } from '../support/requests.ts'
import { startService } from '../support/service.ts'

interface Message {
  id: string
  message: string
  status: string
  createdAt: string
}

t.test(
  'an accepted message, of up to 4,096 characters, is stored as the response shows it',
  async (t) => {
    const service = await startService(t)
    const text = `Grüße ${'🐇'.repeat(4090)}`
    const before = new Date().toISOString()
    const response = await post(service, 'messages', { message: text })
    t.equal(response.statusCode, 202)
    const { id, createdAt, ...rest } = response.json<Message>()
    t.same(rest, { message: text, status: 'queued' })
    t.match(
      id,
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    )
    t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.ok(createdAt >= before && createdAt <= new Date().toISOString())
    t.equal(
      await result(post(service, 'messages', { message: `${text}.` })),
      'invalid_request'
    )
    t.same(
      await query(
        service.databaseUrl,
        'SELECT id, message, status, created_at FROM messages'
      ),
      [{ id, message: text, status: 'queued', created_at: new Date(createdAt) }]
    )
  }
)

const [, take = ''] =
  /```sql\n(WITH taken[^`]*)```/.exec(
    readFileSync('docs/messages.md', 'utf8')
  ) ?? []

t.test(
  'a documented consumer skips messages that another has taken, and takes them when it fails',
  async (t) => {
    const { databaseUrl } = await startService(t)
    await query(
      databaseUrl,
      "INSERT INTO messages (id, message) SELECT gen_random_uuid(), 'm' || n FROM generate_series(1, 2) n"
    )
    const [one, other] = [
      await connect(t, databaseUrl),
      await connect(t, databaseUrl)
    ]
    const takenBy = async (client: typeof one) =>
      (await client.query<Message>(take)).rows
        .map(({ message }) => message)
        .sort()
    await one.query('BEGIN')
    t.same(await takenBy(one), ['m1', 'm2'])
    await other.query('BEGIN')
    t.same(await takenBy(other), [])
    await one.query('ROLLBACK')
    t.same(await takenBy(other), ['m1', 'm2'])
    await other.query('COMMIT')
    t.same(await takenBy(one), [])
    t.same(await query(databaseUrl, 'SELECT DISTINCT status FROM messages'), [
      { status: 'done' }
    ])
  }
)
