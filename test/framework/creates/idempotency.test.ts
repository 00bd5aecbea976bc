import t from 'tap'
import { idempotencyHashesOf } from '../../../src/framework/creates/creation-handler.ts'
import { createDatabase, query } from '../../support/database.ts'
import { startNotes, storedNames } from '../../support/notes.ts'
import { startProxy } from '../../support/proxy.ts'
import { codeOrStatus, post } from '../../support/requests.ts'

const proxy = await startProxy(t, await createDatabase(t))
const service = await startNotes(t, { databaseUrl: proxy.url })
const run = (sql: string) => query(service.databaseUrl, sql)
const count = async (table: string) =>
  (await run(`SELECT FROM ${table}`)).length

t.beforeEach(() =>
  // Ids that a double cannot tell apart.
  run(
    `TRUNCATE notes, remarks, idempotency_keys;
     INSERT INTO notes (id, name)
     VALUES (9007199254740992, 'x'), (9007199254740993, 'y')`
  )
)

const send = (path: string, payload: object | string, key?: string) =>
  post(service, path, payload, {
    'content-type': 'application/json',
    ...(key !== undefined && { 'idempotency-key': key })
  })
/** Creates a note. */
const create = (key: string) => send('notes', { name: 'a' }, key)

t.test('a key sent again gets the first response', async (t) => {
  const body = '{"text":"a \\" 🐇","noteId":9007199254740993}'
  const first = await send('remarks', body, 'key')
  t.equal(first.statusCode, 202)
  // Without defaults: a later version may add them.
  const hashed = '[{"noteId":9007199254740993,"text":"a \\" 🐇"}]'
  const hash = `sha256(convert_to('${hashed}', 'UTF8'))`
  t.equal(await count(`idempotency_keys WHERE body_hash = ${hash}`), 1)

  const sameValues =
    '{ "noteId": 9007199254740993, "kind": "comment", "text": "a \\u0022 🐇" }'
  for (const replay of [
    await send('remarks', body, 'key'),
    await send('remarks', sameValues, '"key"')
  ]) {
    t.match(replay, {
      statusCode: 202,
      body: first.body,
      headers: {
        'content-type': first.headers['content-type'],
        'idempotent-replayed': 'true'
      }
    })
    t.not(replay.headers['x-request-id'], first.headers['x-request-id'])
  }

  const otherValues = body.replace('993', '992')
  t.match((await send('remarks', otherValues, 'key')).json(), {
    code: 'idempotency_key_reused',
    status: 422
  })
  t.equal(await count('remarks'), 1)

  for (const key of ['other', undefined])
    t.equal(await codeOrStatus(send('remarks', body, key)), 202)
  t.equal(await count('remarks'), 3)
  t.equal(await codeOrStatus(create('key')), 201, 'another operation')
})

/** Keys as a string of RFC 9651, and the same keys without quotes. */
const acceptedKeys = {
  '"a"': 'a',
  '"a\\"b\\\\"': 'a"b\\',
  [`"${'~'.repeat(255)}"`]: '~'.repeat(255)
}

const rejectedKeys = [
  '',
  '""',
  '"a',
  '"a\\b"',
  'a b',
  'é',
  'k'.repeat(256),
  // What Node.js makes of a repeated header.
  '"a", "a"'
]

t.test(
  'a key is visible ASCII, and the same bare or as a string of RFC 9651',
  async (t) => {
    for (const [quoted, bare] of Object.entries(acceptedKeys)) {
      t.equal(await codeOrStatus(create(quoted)), 201, quoted)
      t.equal(await codeOrStatus(create(bare)), '201 replayed', bare)
    }

    const message =
      /^header.idempotency-key must be 1 to 255 visible ASCII characters, /
    for (const key of rejectedKeys)
      t.match((await create(key)).json(), { status: 400, message }, key)
  }
)

t.test('a key needs an API key', (t) => {
  const request = {
    method: 'POST',
    routeOptions: { url: '/v1/notes' },
    params: {},
    headers: { 'idempotency-key': 'key' },
    apiKeyCheck: undefined,
    body: {}
  }
  t.throws(() => idempotencyHashesOf(request, [], []), {
    message: 'the Idempotency-Key of POST /v1/notes needs an API key'
  })
  t.end()
})

t.test(
  'a failed create leaves its key free, and a stored one always replays',
  async (t) => {
    const id = 9007199254740992
    const createOn = (noteId?: number) =>
      send('remarks', { text: 'a', noteId }, 'key')

    t.equal((await createOn()).statusCode, 400)
    t.equal((await createOn(2)).statusCode, 400)

    const { body } = await createOn(id)
    await run('TRUNCATE notes, remarks')
    const replay = await createOn(id)
    t.match(replay, { statusCode: 202, body })
    t.equal((await createOn(2)).statusCode, 422)
  }
)

t.test(
  'SDKs may retry a keyed create with an unknown outcome: it is stored once',
  async (t) => {
    proxy.cutAt('"name":"a"')
    const response = await create('key')

    t.match(response.headers, { 'x-should-retry': 'true', 'retry-after': '1' })
    t.match(response.json(), { code: 'outcome_unknown' })

    proxy.cutAt('none')
    t.equal(await codeOrStatus(create('key')), '201 replayed')
    t.same(await storedNames(service.databaseUrl), ['a', 'x', 'y'])
  }
)
