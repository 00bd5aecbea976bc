import { readFileSync } from 'node:fs'
import pg from 'pg'
import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, startService } from '../support/service.ts'

interface Message {
  id: string
  message: string
  status: string
  createdAt: string
}

const send = ({ app, auth }: Service, message: unknown) =>
  app.inject({ method: 'POST', url: '/v1/messages', headers: auth, payload: { message } })

t.test('an accepted message is stored as the response shows it', async (t) => {
  const service = await startService(t)
  const before = new Date().toISOString()
  const response = await send(service, 'Grüße 🐇')
  t.equal(response.statusCode, 202)
  const { id, createdAt, ...rest } = response.json<Message>()
  t.same(rest, { message: 'Grüße 🐇', status: 'queued' })
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.ok(createdAt >= before && createdAt <= new Date().toISOString())
  t.same(await query(service.databaseUrl, 'SELECT id, message, status, created_at FROM messages'), [
    { id, message: 'Grüße 🐇', status: 'queued', created_at: new Date(createdAt) }
  ])
})

t.test('a message has 1 to 4,096 characters', async (t) => {
  const service = await startService(t)
  t.equal((await send(service, '🐇'.repeat(4096))).statusCode, 202)
  for (const message of ['', '🐇'.repeat(4097), null, 1]) t.equal((await send(service, message)).statusCode, 400)
  t.equal((await query(service.databaseUrl, 'SELECT FROM messages')).length, 1)
})

t.test('messages that arrive together are written by one statement, with ids in their order', async (t) => {
  let writes = 0
  const service = await startService(t, {
    onStatement: (name) => {
      if (name === 'create-messages') writes++
    }
  })
  const lock = await lockTable(t, service.databaseUrl, 'messages')
  const first = send(service, 'first')
  await lockAwaited(service.databaseUrl)
  const texts = Array.from({ length: 100 }, (_, index) => `message ${index % 10}`)
  const allHandled = handled(t, texts.length)
  const responses = texts.map((text) => send(service, text))
  await allHandled
  await lock.release()
  const sent = (await Promise.all([first, ...responses])).map((response) => response.json<Message>())
  t.equal(writes, 2)
  t.same(
    sent.map(({ message }) => message),
    ['first', ...texts]
  )
  const ids = sent.map(({ id }) => id)
  t.same(ids, [...ids].sort())
})

const [, take = ''] = /```sql\n(WITH taken[^`]*)```/.exec(readFileSync('docs/messages.md', 'utf8')) ?? []

/** A consumer as docs/messages.md describes it, on its own connection. */
async function startConsumer(t: Test, databaseUrl: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  return {
    begin: () => client.query('BEGIN'),
    take: async () => (await client.query<Message>(take)).rows.map(({ message }) => message).sort(),
    commit: () => client.query('COMMIT'),
    rollback: () => client.query('ROLLBACK')
  }
}

const fill = (databaseUrl: string, count: number) =>
  query(
    databaseUrl,
    "INSERT INTO messages (id, message) SELECT gen_random_uuid(), 'm' || n FROM generate_series(1, $1::int) n",
    [count]
  )

t.test('a consumer skips messages that another has taken, and takes them when the other fails', async (t) => {
  const { databaseUrl } = await startService(t)
  await fill(databaseUrl, 2)
  const [one, other] = [await startConsumer(t, databaseUrl), await startConsumer(t, databaseUrl)]
  await one.begin()
  t.same(await one.take(), ['m1', 'm2'])
  await other.begin()
  t.same(await other.take(), [])
  await one.rollback()
  t.same(await other.take(), ['m1', 'm2'])
  await other.commit()
  t.same(await one.take(), [])
  t.same(await query(databaseUrl, 'SELECT DISTINCT status FROM messages'), [{ status: 'done' }])
})

t.test('two concurrent consumers take every message once', async (t) => {
  const { databaseUrl } = await startService(t)
  await fill(databaseUrl, 2000)
  const consume = async () => {
    const consumer = await startConsumer(t, databaseUrl)
    const all: string[] = []
    for (;;) {
      await consumer.begin()
      const taken = await consumer.take()
      await consumer.commit()
      if (taken.length === 0) return all
      all.push(...taken)
    }
  }
  const [one, other] = await Promise.all([consume(), consume()])
  t.ok(one.length > 0)
  t.ok(other.length > 0)
  t.same([...one, ...other].sort(), Array.from({ length: 2000 }, (_, index) => `m${index + 1}`).sort())
})
