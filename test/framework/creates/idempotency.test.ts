import t from 'tap'
import { createDatabase, query } from '../../support/database.ts'
import { startNotes, storedNames } from '../../support/notes.ts'
import { startProxy } from '../../support/proxy.ts'
import { codeOrStatus, post } from '../../support/requests.ts'
import * as raw from '../http/raw-requests.ts'

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

/**
 * A body, the same values written in another way, and other values. The hash is
 * without defaults: a later version may add them.
 */
const operations = [
  {
    path: 'notes',
    status: 201,
    body: '{"name":"a \\" 🐇","description":"d"}',
    sameValues: '{ "description": "d", "name": "a \\u0022 🐇" }',
    otherValues: '{"name":"a \\" 🐇"}',
    hashed: '[{"description":"d","name":"a \\" 🐇"}]'
  },
  {
    path: 'remarks',
    status: 202,
    body: '{"text":"a","noteId":9007199254740993}',
    sameValues: '{"noteId":9007199254740993,"kind":"comment","text":"\\u0061"}',
    otherValues: '{"text":"a","noteId":9007199254740992}',
    hashed: '[{"noteId":9007199254740993,"text":"a"}]'
  }
]

const reply = { text: 'a', source: { line: 1 } }

for (const operation of operations) {
  const { path, status, body, sameValues, otherValues, hashed } = operation
  t.test(`a key sent again gets the first of the ${path}`, async (t) => {
    const first = await send(path, body, 'key')
    t.equal(await codeOrStatus(Promise.resolve(first)), status)
    const rows = await count(path)
    const hash = `sha256(convert_to('${hashed}', 'UTF8'))`
    t.equal(await count(`idempotency_keys WHERE body_hash = ${hash}`), 1)

    for (const replay of [
      await send(path, body, 'key'),
      await send(path, sameValues, '"key"')
    ]) {
      t.match(replay, {
        statusCode: status,
        body: first.body,
        headers: {
          'content-type': first.headers['content-type'],
          'idempotent-replayed': 'true'
        }
      })
      t.not(replay.headers['x-request-id'], first.headers['x-request-id'])
    }

    t.match((await send(path, otherValues, 'key')).json(), {
      code: 'idempotency_key_reused',
      status: 422
    })
    t.equal(await count(path), rows)

    for (const key of ['other', undefined])
      t.equal(await codeOrStatus(send(path, body, key)), status)
    t.equal(await count(path), rows + 2)
    t.equal(await count('idempotency_keys'), 2)
    const toOther = send('notes/9007199254740992/replies', reply, 'key')
    t.equal(await codeOrStatus(toOther), 201, 'another operation')
  })
}

const printable = String.fromCharCode(
  ...Array.from({ length: 94 }, (_, index) => 33 + index)
)

/** Keys as a string of RFC 9651, and the same keys without quotes. */
const acceptedKeys = {
  '"a\\"b"': 'a"b',
  '"a\\\\b"': 'a\\b',
  [`"x${printable.replace(/["\\]/g, '\\$&')}"`]: `x${printable}`,
  '"1"': '1',
  [`"${'k'.repeat(255)}"`]: 'k'.repeat(255),
  // All of its characters are escaped.
  [`"${'\\"'.repeat(255)}"`]: '"'.repeat(255)
}

const tooLong = 'k'.repeat(256)

const rejectedKeys = [
  '',
  '""',
  '"',
  '"a',
  'a b',
  '"a b"',
  '"a\\b"',
  '"a"b"',
  'é',
  tooLong,
  `"${tooLong}"`,
  '"a";b=1'
]

t.test(
  'a key is visible ASCII, and the same bare or as a string of RFC 9651',
  async (t) => {
    for (const [quoted, bare] of Object.entries(acceptedKeys)) {
      t.equal(await codeOrStatus(create(quoted)), 201, quoted)
      // A bare key does not start with a quote.
      const again = bare.startsWith('"') ? quoted : bare
      t.equal(await codeOrStatus(create(again)), '201 replayed', again)
    }

    const message =
      /^header.idempotency-key must be 1 to 255 visible ASCII characters, /
    for (const key of rejectedKeys)
      t.match((await create(key)).json(), { status: 400, message }, key)
  }
)

t.test('a repeated key gets 400', async (t) => {
  const headers = { 'Idempotency-Key': ['"a"', '"a"'] }
  const request = raw.createRequest('{"name":"a"}', headers)
  t.match(await raw.send(service, request), {
    status: 400,
    body: /be sent once/
  })
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
