import t from 'tap'
import { deleteExpiredIdempotencyKeysPeriodically } from '../src/creates/expired-idempotency-keys.ts'
import { createDatabase, query, testLog } from './support/database.ts'
import { startDatabaseProxy } from './support/proxy.ts'
import {
  createCategory,
  idempotencyKey,
  statusOrCode,
  post
} from './support/requests.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

// Two replicas, the first behind a proxy that can lose its connections.
const databaseUrl = await createDatabase(t)
const proxy = await startDatabaseProxy(t, databaseUrl)
const first = await startService(t, { databaseUrl: proxy.url })
const second = {
  ...(await startService(t, { databaseUrl })),
  auth: first.auth
}

const run = (sql: string) => query(databaseUrl, sql)
const count = async (table: string) =>
  (await run(`SELECT FROM ${table}`)).length
t.beforeEach(() =>
  run(
    'TRUNCATE categories, messages, idempotency_keys RESTART IDENTITY CASCADE'
  )
)

t.test(
  'an Idempotency-Key sent again gets the first response, on any replica',
  async (t) => {
    const send = (service: typeof second, body: string, value?: string) =>
      post(service, 'messages', body, idempotencyKey(value))
    const original = await send(first, '{"message":"a \\" 🐇"}', 'first')
    t.equal(original.statusCode, 202)

    const sameValue = '{ "message": "a \\u0022 🐇" }'
    for (const service of [first, second])
      t.match(await send(service, sameValue, 'first'), {
        statusCode: 202,
        body: original.body,
        headers: { 'idempotent-replayed': 'true' }
      })
    const other = send(second, '{"message":"b"}', 'first')
    t.equal(await statusOrCode(other), 'idempotency_key_reused')
    t.equal(await count('messages'), 1)

    for (const value of ['other', undefined])
      t.equal(await statusOrCode(send(first, sameValue, value)), 202)
    t.equal(await count('messages'), 3)
    const onAnother = createCategory(first, 'a', idempotencyKey('first'))
    t.equal(await statusOrCode(onAnother), 201, 'another operation')
  }
)

t.test('a create with an unknown outcome is stored once', async (t) => {
  proxy.disconnectOn('"name":"a"')
  const response = await createCategory(first, 'a', idempotencyKey('first'))
  t.match(response.headers, { 'x-should-retry': 'true', 'retry-after': '1' })
  t.match(response.json(), { code: 'outcome_unknown' })

  proxy.passThrough()
  t.equal(
    await statusOrCode(createCategory(first, 'a', idempotencyKey('first'))),
    '201 replayed'
  )
  t.equal(await count('categories'), 1)
})

t.test('Idempotency-Keys are removed after a day', async (t) => {
  for (const name of ['old', 'new'])
    await createCategory(first, name, idempotencyKey(name))
  await run(
    `UPDATE idempotency_keys SET created_at = now() - interval '25 hours'
     WHERE response LIKE '%old%'`
  )
  const removal = new AbortController()
  const { signal } = removal
  const removed = deleteExpiredIdempotencyKeysPeriodically(
    first.database,
    testLog,
    signal
  )
  await until(
    async () => (await count('idempotency_keys')) === 1,
    'the old one is removed'
  )
  removal.abort()
  await removed
  t.equal(
    await statusOrCode(createCategory(first, 'old', idempotencyKey('old'))),
    201
  )
  t.equal(
    await statusOrCode(createCategory(first, 'new', idempotencyKey('new'))),
    '201 replayed'
  )
})
