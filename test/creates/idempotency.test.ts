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

t.test(
  'for each operation, a key and equal values get the first response again, and others a 422',
  async (t) => {
    const { create, databaseUrl } = await start(t)
    await query(
      databaseUrl,
      "INSERT INTO categories (id, name) VALUES (9007199254740992, 'x'), (9007199254740993, 'y')"
    )
    for (const [path, status, body, sameBody, otherBody] of [
      [
        'categories',
        201,
        '{"name":"a \\" 🐇","description":"d"}',
        '{ "description": "d", "name": "a \\u0022 🐇" }',
        '{"name":"a \\" 🐇"}'
      ],
      [
        'pets',
        201,
        '{"name":"a","categoryId":9007199254740993}',
        '{"categoryId":9007199254740993,"status":"available","name":"a"}',
        '{"name":"a","categoryId":9007199254740992}'
      ],
      [
        'messages',
        202,
        '{"message":"a"}',
        '{"message":"\\u0061"}',
        '{"message":"A"}'
      ]
    ] as const) {
      const count = async (table: string) =>
        (await query(databaseUrl, `SELECT FROM ${table}`)).length
      const [rows, keys] = [await count(path), await count('idempotency_keys')]
      const first = await create(path, body, 'key')
      t.match(first, { status, isReplay: false })
      for (const again of [
        await create(path, body, 'key'),
        await create(path, sameBody, '"key"')
      ]) {
        t.match(again, { status, body: first.body, isReplay: true })
        t.equal(
          again.response.headers['content-type'],
          first.response.headers['content-type']
        )
        t.not(again.id, first.id)
      }
      t.match((await create(path, otherBody, 'key')).response.json(), {
        code: 'idempotency_key_reused',
        status: 422
      })
      t.match(await create(path, otherBody, 'other'), {
        status,
        isReplay: false
      })
      t.match(
        await create(path, body),
        { status, isReplay: false },
        'without a key'
      )
      t.same(
        [(await count(path)) - rows, (await count('idempotency_keys')) - keys],
        [3, 2]
      )
    }
  }
)

t.test(
  'a key has 1 to 255 visible ASCII characters, bare or as a string of RFC 9651',
  async (t) => {
    const { create } = await start(t)
    const printable = String.fromCharCode(
      ...Array.from({ length: 94 }, (_, index) => 33 + index)
    )
    for (const [quoted, bare] of [
      ['"a\\"b"', 'a"b'],
      ['"a\\\\b"', 'a\\b'],
      [`"x${printable.replace(/["\\]/g, '\\$&')}"`, `x${printable}`],
      [`"${'\\"'.repeat(255)}"`, undefined],
      ['"1"', '1'],
      [`"${'k'.repeat(255)}"`, 'k'.repeat(255)]
    ] as const) {
      t.match(
        await create('categories', { name: 'a' }, quoted),
        { status: 201, isReplay: false },
        quoted
      )
      if (bare)
        t.match(
          await create('categories', { name: 'a' }, bare),
          { status: 201, isReplay: true },
          bare
        )
    }
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
        (await create('categories', { name: 'a' }, key)).response.json(),
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
