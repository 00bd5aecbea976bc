import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { startNotes, storedNames } from '../../support/notes.ts'
import { startProxy } from '../../support/proxy.ts'
import { post } from '../../support/requests.ts'
import { parseRaw, sendRaw } from '../../support/service.ts'

/** A service with one note, and a function that sends a create. */
async function start(t: Test, databaseUrl?: string) {
  const service = await startNotes(t, { ...(databaseUrl && { databaseUrl }) })
  await query(service.databaseUrl, "INSERT INTO notes (name) VALUES ('first')")

  const createKeyed = async (
    path: string,
    payload: object | string,
    key?: string
  ) => {
    const headers = {
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key })
    }
    const response = await post(service, path, payload, headers)
    const { 'idempotent-replayed': isReplay, 'x-request-id': id } =
      response.headers

    return {
      status: response.statusCode,
      body: response.body,
      isReplay: isReplay === 'true',
      id,
      response
    }
  }

  return { ...service, createKeyed }
}

/** A service whose notes have ids that a double cannot tell apart. */
async function startWithNotes(t: Test) {
  const { createKeyed, databaseUrl } = await start(t)
  await query(
    databaseUrl,
    `INSERT INTO notes (id, name)
     VALUES (9007199254740992, 'x'), (9007199254740993, 'y')`
  )
  const count = async (table: string) =>
    (await query(databaseUrl, `SELECT FROM ${table}`)).length

  return { createKeyed, count }
}

/** A body, the same values written in another way, and other values. */
const operations = [
  {
    path: 'notes',
    status: 201,
    body: '{"name":"a \\" 🐇","description":"d"}',
    sameValues: '{ "description": "d", "name": "a \\u0022 🐇" }',
    otherValues: '{"name":"a \\" 🐇"}'
  },
  {
    path: 'remarks',
    status: 202,
    body: '{"text":"a","noteId":9007199254740993}',
    sameValues: '{"noteId":9007199254740993,"kind":"comment","text":"\\u0061"}',
    otherValues: '{"text":"a","noteId":9007199254740992}'
  }
]

for (const { path, status, body, sameValues, otherValues } of operations) {
  t.test(`a key sent again gets the first of the ${path}`, async (t) => {
    const { createKeyed, count } = await startWithNotes(t)
    const first = await createKeyed(path, body, 'key')
    t.match(first, { status, isReplay: false })
    const rows = await count(path)

    const replays = [
      await createKeyed(path, body, 'key'),
      await createKeyed(path, sameValues, '"key"')
    ]

    const contentType = first.response.headers['content-type']
    for (const replay of replays) {
      t.match(replay, { status, body: first.body, isReplay: true })
      t.equal(replay.response.headers['content-type'], contentType)
      t.not(replay.id, first.id, 'a request id of its own')
    }
    t.equal(await count(path), rows)
    t.equal(await count('idempotency_keys'), 1)
  })

  t.test(`a key sent again with other ${path} gets 422`, async (t) => {
    const { createKeyed, count } = await startWithNotes(t)
    await createKeyed(path, body, 'key')
    const rows = await count(path)

    const reused = await createKeyed(path, otherValues, 'key')
    t.match(reused.response.json(), {
      code: 'idempotency_key_reused',
      status: 422
    })
    t.equal(await count(path), rows)
  })

  t.test(`another key, or none, creates another of the ${path}`, async (t) => {
    const { createKeyed, count } = await startWithNotes(t)
    await createKeyed(path, body, 'key')
    const rows = await count(path)

    for (const key of ['other', undefined])
      t.match(await createKeyed(path, body, key), { status, isReplay: false })

    t.equal(await count(path), rows + 2)
    t.equal(await count('idempotency_keys'), 2)
  })
}

/** Returns a function that creates a note with a key. */
async function startCreates(t: Test) {
  const { createKeyed } = await start(t)
  return (key: string) => createKeyed('notes', { name: 'a' }, key)
}

const printable = String.fromCharCode(
  ...Array.from({ length: 94 }, (_, index) => 33 + index)
)

/** Keys as a string of RFC 9651, and the same keys without quotes. */
const acceptedKeys = [
  { quoted: '"a\\"b"', bare: 'a"b' },
  { quoted: '"a\\\\b"', bare: 'a\\b' },
  {
    quoted: `"x${printable.replace(/["\\]/g, '\\$&')}"`,
    bare: `x${printable}`
  },
  { quoted: '"1"', bare: '1' },
  { quoted: `"${'k'.repeat(255)}"`, bare: 'k'.repeat(255) }
]

t.test(
  'a key is visible ASCII, and the same bare or as a string of RFC 9651',
  async (t) => {
    const createWith = await startCreates(t)

    for (const { quoted, bare } of acceptedKeys) {
      const created = { status: 201, isReplay: false }
      const replayed = { status: 201, isReplay: true }

      t.match(await createWith(quoted), created, quoted)
      t.match(await createWith(bare), replayed, bare)
    }
  }
)

t.test('a key may have 255 characters, however many are escaped', async (t) => {
  const createWith = await startCreates(t)
  const escaped = `"${'\\"'.repeat(255)}"`

  t.match(await createWith(escaped), { status: 201 })
})

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

t.test('a key of other characters or of another length gets 400', async (t) => {
  const createWith = await startCreates(t)
  const message =
    /^header.idempotency-key must be 1 to 255 visible ASCII characters, bare or in double quotes, and be/

  for (const key of rejectedKeys) {
    const { response } = await createWith(key)

    t.match(response.json(), { status: 400, message }, key)
  }
})

t.test('a repeated key gets 400', async (t) => {
  const { port, key } = await start(t)
  for (const lines of [
    'Idempotency-Key: a\r\nidempotency-key: a',
    'Idempotency-Key: "a"\r\nIdempotency-Key: "b"'
  ]) {
    const head = `POST /v1/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${lines}`
    const body = '{"name":"a"}'
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`
    t.match(
      parseRaw(await sendRaw(port, `${head}\r\n${type}\r\n\r\n${body}`)),
      { status: 400, body: /be sent once/ }
    )
  }
})

t.test(
  'a failed create leaves its key free, and a stored one always replays',
  async (t) => {
    const { createKeyed, databaseUrl } = await start(t)
    const createOn = (noteId?: number) =>
      createKeyed('remarks', { text: 'a', noteId }, 'key')

    t.match(await createOn(), { status: 400 })
    t.match(await createOn(2), { status: 400 })

    const first = await createOn(1)
    t.match(first, { status: 202, isReplay: false })

    await query(databaseUrl, 'TRUNCATE notes, remarks')
    t.match(await createOn(1), {
      status: 202,
      isReplay: true,
      body: first.body
    })
    t.match(await createOn(2), { status: 422 })
  }
)

t.test(
  'SDKs may retry a keyed create with an unknown outcome: it is stored once',
  async (t) => {
    const { databaseUrl } = await start(t)
    const proxy = await startProxy(t, databaseUrl)
    const { createKeyed } = await start(t, proxy.url)
    proxy.cutAt('lost')
    const { response } = await createKeyed('notes', { name: 'lost' }, 'key')

    t.match(response.headers, { 'x-should-retry': 'true', 'retry-after': '1' })
    t.match(response.json(), {
      code: 'outcome_unknown',
      message: /send it again with the same Idempotency-Key$/
    })

    proxy.cutAt('none')
    t.match(await createKeyed('notes', { name: 'lost' }, 'key'), {
      status: 201,
      isReplay: true
    })
    t.same(await storedNames(databaseUrl), ['first', 'first', 'lost'])
  }
)
