import t, { type Test } from 'tap'
import { query, storedNames } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { post } from '../support/requests.ts'
import { parseRaw, sendRaw, startService } from '../support/service.ts'

/** A service with one category, and a function that sends a create. */
async function start(t: Test, databaseUrl?: string) {
  const service = await startService(t, { ...(databaseUrl && { databaseUrl }) })
  await query(
    service.databaseUrl,
    "INSERT INTO categories (name) VALUES ('first')"
  )
  const create = async (
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
  return { ...service, create }
}

/** An operation with a body, the same values otherwise, and other values. */
const operations = [
  {
    path: 'categories',
    status: 201,
    body: '{"name":"a \\" 🐇","description":"d"}',
    sameValues: '{ "description": "d", "name": "a \\u0022 🐇" }',
    otherValues: '{"name":"a \\" 🐇"}'
  },
  {
    path: 'pets',
    status: 201,
    body: '{"name":"a","categoryId":9007199254740993}',
    sameValues:
      '{"categoryId":9007199254740993,"status":"available","name":"a"}',
    otherValues: '{"name":"a","categoryId":9007199254740992}'
  },
  {
    path: 'messages',
    status: 202,
    body: '{"message":"a"}',
    sameValues: '{"message":"\\u0061"}',
    otherValues: '{"message":"A"}'
  }
]

for (const { path, status, body, sameValues, otherValues } of operations) {
  t.test(
    `a key and equal values get the first of the ${path} again, ` +
      'and other values a 422',
    async (t) => {
      const { create, databaseUrl } = await start(t)
      const count = async (table: string) =>
        (await query(databaseUrl, `SELECT FROM ${table}`)).length

      await query(
        databaseUrl,
        `INSERT INTO categories (id, name)
         VALUES (9007199254740992, 'x'), (9007199254740993, 'y')`
      )
      const rows = await count(path)

      const first = await create(path, body, 'key')
      t.match(first, { status, isReplay: false })

      const replays = [
        await create(path, body, 'key'),
        await create(path, sameValues, '"key"')
      ]
      const contentType = first.response.headers['content-type']

      for (const replay of replays) {
        t.match(replay, { status, body: first.body, isReplay: true })
        t.equal(replay.response.headers['content-type'], contentType)
        t.not(replay.id, first.id, 'a request id of its own')
      }

      const reused = await create(path, otherValues, 'key')
      t.match(reused.response.json(), {
        code: 'idempotency_key_reused',
        status: 422
      })

      const otherKey = await create(path, otherValues, 'other')
      t.match(otherKey, { status, isReplay: false })

      const withoutKey = await create(path, body)
      t.match(withoutKey, { status, isReplay: false })

      t.equal((await count(path)) - rows, 3)
      t.equal(await count('idempotency_keys'), 2)
    }
  )
}

t.test(
  'a key has 1 to 255 visible ASCII characters, bare or as a string of RFC 9651',
  async (t) => {
    const { create } = await start(t)
    const printable = String.fromCharCode(
      ...Array.from({ length: 94 }, (_, index) => 33 + index)
    )
    const accepted = [
      { quoted: '"a\\"b"', bare: 'a"b' },
      { quoted: '"a\\\\b"', bare: 'a\\b' },
      {
        quoted: `"x${printable.replace(/["\\]/g, '\\$&')}"`,
        bare: `x${printable}`
      },
      { quoted: '"1"', bare: '1' },
      { quoted: `"${'k'.repeat(255)}"`, bare: 'k'.repeat(255) }
    ]
    const createWith = (key: string) => create('categories', { name: 'a' }, key)

    for (const { quoted, bare } of accepted) {
      const created = { status: 201, isReplay: false }
      t.match(await createWith(quoted), created, quoted)
      t.match(await createWith(bare), { status: 201, isReplay: true }, bare)
    }

    const escaped = `"${'\\"'.repeat(255)}"`
    t.match(await createWith(escaped), { status: 201 }, '255 escaped')

    const message =
      /^header.idempotency-key must be 1 to 255 visible ASCII characters, bare or in double quotes, and be/
    const tooLong = 'k'.repeat(256)
    for (const key of [
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
    ]) {
      t.match(
        (await createWith(key)).response.json(),
        { status: 400, message },
        key
      )
    }
  }
)

t.test('a repeated key gets 400', async (t) => {
  const { port, key } = await start(t)
  for (const lines of [
    'Idempotency-Key: a\r\nidempotency-key: a',
    'Idempotency-Key: "a"\r\nIdempotency-Key: "b"'
  ]) {
    const head = `POST /v1/categories HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${lines}`
    const body = '{"name":"a"}'
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`
    t.match(
      parseRaw(await sendRaw(port, `${head}\r\n${type}\r\n\r\n${body}`)),
      { status: 400, body: /be sent once/ }
    )
  }
})

t.test(
  'a create that fails leaves its key free, and one that succeeded replays whatever happened since',
  async (t) => {
    const { create, databaseUrl } = await start(t)
    for (const invalid of [{ name: 'a' }, { name: 'a', categoryId: 2 }]) {
      t.match(await create('pets', invalid, 'key'), { status: 400 })
    }
    const pet = await create('pets', { name: 'a', categoryId: 1 }, 'key')
    t.match(pet, { status: 201, isReplay: false })
    await query(databaseUrl, 'TRUNCATE categories CASCADE')
    t.match(await create('pets', { name: 'a', categoryId: 1 }, 'key'), {
      status: 201,
      isReplay: true,
      body: pet.body
    })
    t.match(await create('pets', { name: 'a', categoryId: 2 }, 'key'), {
      status: 422
    })
  }
)

t.test(
  'a keyed create with an unknown outcome may be retried by SDKs, and is stored once',
  async (t) => {
    const { databaseUrl } = await start(t)
    const proxy = await startProxy(t, databaseUrl)
    const { create } = await start(t, proxy.url)
    proxy.cutAt('lost')
    const { response } = await create('categories', { name: 'lost' }, 'key')
    t.match(response.headers, { 'x-should-retry': 'true', 'retry-after': '1' })
    t.match(response.json(), {
      code: 'outcome_unknown',
      message: /send it again with the same Idempotency-Key$/
    })
    proxy.cutAt('none')
    t.match(await create('categories', { name: 'lost' }, 'key'), {
      status: 201,
      isReplay: true
    })
    t.same(await storedNames(databaseUrl), ['first', 'first', 'lost'])
  }
)
