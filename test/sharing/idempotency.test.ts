import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { parseRaw, sendRaw, type Service, startService } from '../support/service.ts'

/** A service with one category, and a function that sends a create. */
async function start(t: Test, databaseUrl?: string) {
  const service = await startService(t, { ...(databaseUrl && { databaseUrl }) })
  await query(service.databaseUrl, "INSERT INTO categories (name) VALUES ('first')")
  return { ...service, create: (...create: Create) => send(service, ...create) }
}

type Create = [path: string, payload: object | string, key?: string]

async function send({ app, auth }: Service, ...[path, payload, key]: Create) {
  const headers = { ...auth, 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
  const response = await app.inject({ method: 'POST', url: `/v1/${path}`, headers, payload })
  const { 'idempotent-replayed': isReplay, 'x-request-id': id } = response.headers
  return { status: response.statusCode, body: response.body, isReplay: isReplay === 'true', id, response }
}

for (const [path, body, sameBody, otherBody] of [
  [
    'categories',
    '{"name":"a \\" 🐇","description":"d"}',
    '{ "description": "d", "name": "a \\u0022 🐇" }',
    '{"name":"a \\" 🐇"}'
  ],
  [
    'pets',
    '{"name":"a","categoryId":9007199254740993}',
    '{"categoryId":9007199254740993,"status":"available","name":"a"}',
    '{"name":"a","categoryId":9007199254740992}'
  ],
  ['messages', '{"message":"a"}', '{"message":"\\u0061"}', '{"message":"A"}']
] as const) {
  t.test(`${path}: the same key and values get the first response again, and other values a 422`, async (t) => {
    const { create, databaseUrl } = await start(t)
    await query(
      databaseUrl,
      "INSERT INTO categories (id, name) VALUES (9007199254740992, 'x'), (9007199254740993, 'y')"
    )
    const first = await create(path, body, 'key')
    t.match(first, { status: path === 'messages' ? 202 : 201, isReplay: false })
    for (const [payload, key] of [
      [body, 'key'],
      [sameBody, '"key"']
    ] as const) {
      const again = await create(path, payload, key)
      t.match(again, { status: first.status, body: first.body, isReplay: true })
      t.equal(again.response.headers['content-type'], first.response.headers['content-type'])
      t.not(again.id, first.id)
    }
    const other = await create(path, otherBody, 'key')
    t.equal(other.status, 422)
    t.match(JSON.parse(other.body), { code: 'idempotency_key_reused', status: 422 })
    t.match(await create(path, otherBody, 'other'), { status: first.status, isReplay: false })
    t.match(await create(path, body), { status: first.status, isReplay: false }, 'without a key')
    const stored = "WHERE name LIKE 'a%'"
    const rows = await query(databaseUrl, `SELECT FROM ${path} ${path === 'messages' ? '' : stored}`)
    t.equal(rows.length, 3)
    t.equal((await query(databaseUrl, 'SELECT FROM idempotency_keys')).length, 2)
  })
}

t.test('each operation has its own keys', async (t) => {
  const { create } = await start(t)
  t.match(await create('categories', { name: 'a' }, 'key'), { status: 201, isReplay: false })
  t.match(await create('pets', { name: 'a', categoryId: 1 }, 'key'), { status: 201, isReplay: false })
})

t.test('a key has 1 to 255 visible ASCII characters, bare or as a string of RFC 9651', async (t) => {
  const { create } = await start(t)
  const printable = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index))
  for (const [quoted, bare] of [
    ['"a\\"b"', 'a"b'],
    ['"a\\\\b"', 'a\\b'],
    [`"x${printable.replace(/["\\]/g, '\\$&')}"`, `x${printable}`],
    [`"${'\\"'.repeat(255)}"`, undefined],
    ['"1"', '1'],
    [`"${'k'.repeat(255)}"`, 'k'.repeat(255)]
  ] as const) {
    t.match(await create('categories', { name: 'a' }, quoted), { status: 201, isReplay: false }, quoted)
    if (bare) t.match(await create('categories', { name: 'a' }, bare), { status: 201, isReplay: true }, bare)
  }
  const message =
    'header.idempotency-key must be 1 to 255 visible ASCII characters, bare or in double quotes, and be sent once'
  const tooLong = 'k'.repeat(256)
  for (const key of ['', '""', '"', '"a', 'a b', '"a b"', '"a\\b"', '"a"b"', 'é', tooLong, `"${tooLong}"`, '"a";b=1']) {
    const { status, body } = await create('categories', { name: 'a' }, key)
    t.equal(status, 400, key)
    t.equal((JSON.parse(body) as { message: string }).message, message)
  }
})

t.test('a repeated key gets 400', async (t) => {
  const { port, key } = await start(t)
  for (const lines of ['Idempotency-Key: a\r\nidempotency-key: a', 'Idempotency-Key: "a"\r\nIdempotency-Key: "b"']) {
    const head = `POST /v1/categories HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${lines}`
    const body = '{"name":"a"}'
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`
    t.match(parseRaw(await sendRaw(port, `${head}\r\n${type}\r\n\r\n${body}`)), { status: 400, body: /be sent once/ })
  }
})

t.test('a create that fails leaves its key free, and one that succeeded replays whatever happened since', async (t) => {
  const { create, databaseUrl } = await start(t)
  t.match(await create('pets', { name: 'a' }, 'key'), { status: 400 })
  t.match(await create('pets', { name: 'a', categoryId: 2 }, 'key'), { status: 400 })
  await query(
    databaseUrl,
    `CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER skip BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION skip()`
  )
  t.match(await create('pets', { name: 'a', categoryId: 1 }, 'key'), { status: 500 }, 'dropped by a trigger')
  await query(databaseUrl, 'DROP TRIGGER skip ON pets')
  const pet = await create('pets', { name: 'a', categoryId: 1 }, 'key')
  t.match(pet, { status: 201, isReplay: false })
  await query(databaseUrl, 'TRUNCATE categories CASCADE')
  t.match(await create('pets', { name: 'a', categoryId: 1 }, 'key'), { status: 201, isReplay: true, body: pet.body })
  t.match(await create('pets', { name: 'a', categoryId: 2 }, 'key'), { status: 422 })
})

t.test('a keyed create with an unknown outcome may be retried by SDKs, and is stored once', async (t) => {
  const { databaseUrl } = await start(t)
  const proxy = await startProxy(t, databaseUrl)
  const { create } = await start(t, proxy.url)
  proxy.state.cutOnAnswer = 'lost'
  const { response } = await create('categories', { name: 'lost' }, 'key')
  t.match(response.headers, { 'x-should-retry': 'true', 'retry-after': '1' })
  t.match(response.json(), { code: 'outcome_unknown', message: /send it again with the same Idempotency-Key$/ })
  proxy.state.cutOnAnswer = ''
  t.match(await create('categories', { name: 'lost' }, 'key'), { status: 201, isReplay: true })
  t.equal((await query(databaseUrl, "SELECT FROM categories WHERE name = 'lost'")).length, 1)
})

t.test('a create without a key stores no key', async (t) => {
  const statements: string[] = []
  const { app, auth, databaseUrl } = await startService(t, { onStatement: (name) => statements.push(name) })
  await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'a' } })
  t.same(await query(databaseUrl, 'SELECT FROM idempotency_keys'), [])
  t.same(
    statements.filter((name) => name !== 'find-keys'),
    ['create-categories']
  )
})
