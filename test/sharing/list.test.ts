import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, startService } from '../support/service.ts'

const list = ({ app, auth }: Service, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url: '/v1/categories', headers: { ...auth, ...headers } })

const create = ({ app, auth }: Service, name: string) =>
  app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })

/** Inserts so many categories with a description of this SQL expression. */
const fill = (databaseUrl: string, rows: number, description = "'number ' || n") =>
  query(
    databaseUrl,
    `INSERT INTO categories (name, description) SELECT 'Category ' || n, ${description} FROM generate_series(1, $1::int) AS n`,
    [rows]
  )

/** Inserts 20 MB of categories: more than the buffers of a connection hold. */
const fillLong = (databaseUrl: string) => fill(databaseUrl, 5_000, "repeat('x', 4000)")

/** Half of it is less than 20 MB. */
const little = { RESPONSE_MEMORY: 10_000_000 }

/** Starts a service that counts the statements of lists: whether something changed, and reads. */
async function counting(t: Test, config = {}) {
  const counts = { checks: 0, reads: 0 }
  const service = await startService(t, {
    config,
    onStatement: (name) => {
      if (name === 'changes') counts.checks++
      if (name === 'page-of-categories') counts.reads++
    }
  })
  return { service, counts }
}

t.test('requests that wait at the same time share one read', async (t) => {
  const { service, counts } = await counting(t)
  await create(service, 'x')
  const lock = await lockTable(t, service.databaseUrl, 'categories')
  const first = list(service)
  await lockAwaited(service.databaseUrl)
  const allCame = handled(t, 50)
  const others = Array.from({ length: 50 }, () => list(service))
  await allCame
  t.equal(counts.checks, 1, 'none joins a read that has started')
  await lock.release()
  for (const { statusCode, body } of await Promise.all([first, ...others])) {
    t.equal(statusCode, 200)
    t.equal(body, '[{"id":1,"name":"x"}]')
  }
  t.same(counts, { checks: 2, reads: 1 }, 'an unchanged list is not read again')
})

t.test('a read that fails rejects only the requests that waited for it', async (t) => {
  const { service } = await counting(t)
  await create(service, 'x')
  const lock = await lockTable(t, service.databaseUrl, 'categories')
  const first = list(service)
  await lockAwaited(service.databaseUrl)
  const secondCame = handled(t, 1)
  const second = list(service)
  await secondCame
  await lockAwaited(service.databaseUrl, { terminate: true })
  t.equal((await first).statusCode, 503)
  await lock.release()
  t.equal((await second).statusCode, 200)
})

t.test('a list has a strong ETag, and If-None-Match with it gets a 304 without a body', async (t) => {
  const service = await startService(t)
  await create(service, 'x')
  const first = await list(service)
  const etag = String(first.headers.etag)
  t.match(etag, /^"[^"]+"$/)
  const cached = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' }
  t.match(first.headers, cached)
  const unchanged = await list(service, { 'if-none-match': `"other", W/${etag}` })
  t.equal(unchanged.statusCode, 304)
  t.equal(unchanged.body, '')
  t.match(unchanged.headers, { ...cached, etag, 'content-type': undefined, 'content-encoding': undefined })
  t.equal((await list(service, { 'if-none-match': '*' })).statusCode, 304)
  t.equal((await list(service, { 'if-none-match': etag }, 'HEAD')).statusCode, 304)
  await create(service, 'y')
  const changed = await list(service, { 'if-none-match': etag })
  t.equal(changed.statusCode, 200)
  t.not(changed.headers.etag, etag)
  t.equal((await service.app.inject({ url: '/v1/categories', headers: { 'if-none-match': '*' } })).statusCode, 401)
})

t.test('responses other than lists must not be stored', async (t) => {
  const service = await startService(t)
  t.equal((await create(service, 'x')).headers['cache-control'], 'no-store')
  t.equal((await create(service, '')).headers['cache-control'], 'no-store')
  for (const url of ['/v1/categories', '/nowhere', '/%zz', '/livez']) {
    t.equal((await service.app.inject({ url })).headers['cache-control'], 'no-store', url)
  }
})

t.test('a long list is compressed by Accept-Encoding, and the tag of any coding gets a 304', async (t) => {
  const service = await startService(t)
  await fill(service.databaseUrl, 100)
  const plain = await list(service)
  t.equal(plain.headers['content-encoding'], undefined)
  const gzip = await list(service, { 'accept-encoding': 'gzip' })
  t.equal(gzip.headers['content-encoding'], 'gzip')
  t.equal(gunzipSync(gzip.rawPayload).toString(), plain.body)
  t.not(gzip.headers.etag, plain.headers.etag)
  for (const { headers } of [plain, gzip]) {
    const again = await list(service, { 'accept-encoding': 'br', 'if-none-match': String(headers.etag) })
    t.equal(again.statusCode, 304)
    t.equal(again.headers.etag, headers.etag)
  }
})

t.test('a list is complete, in the order of the ids and has an ETag at the limits of a page', async (t) => {
  const service = await startService(t)
  let rows = 0
  for (const more of [1, 19_998, 1, 1, 10_000]) {
    await fill(service.databaseUrl, more)
    rows += more
    const { headers, body } = await list(service)
    t.same(
      (JSON.parse(body) as { id: number }[]).map(({ id }) => id),
      Array.from({ length: rows }, (_, index) => index + 1)
    )
    t.match(headers.etag, /^"/, `${rows} rows`)
  }
})

t.test('a long list is sent whole, by chunks and with its length and ETag, and read once', async (t) => {
  const { service, counts } = await counting(t)
  await fillLong(service.databaseUrl)
  // Larger than a chunk, and then so small that pages grow again.
  await fill(service.databaseUrl, 2, "repeat('😀', 100000)")
  await fill(service.databaseUrl, 5_000)
  const { headers, body } = await list(service, { 'accept-encoding': 'br' })
  t.match(headers, { etag: /^"/, 'content-length': String(Buffer.byteLength(body)), 'content-encoding': undefined })
  t.strictSame(
    JSON.parse(body),
    await query(service.databaseUrl, 'SELECT id::int, name, description FROM categories ORDER BY id')
  )
  const { reads } = counts
  const again = await list(service, {}, 'HEAD')
  t.match(again, { statusCode: 200, body: '', headers: { 'content-length': headers['content-length'] } })
  t.equal((await list(service, { 'if-none-match': String(headers.etag) })).statusCode, 304)
  t.equal((await list(service)).body, body)
  t.equal(counts.reads, reads)
})

t.test('a list beyond half of RESPONSE_MEMORY is streamed, complete and without ETag or compression', async (t) => {
  const { service, counts } = await counting(t, little)
  await fillLong(service.databaseUrl)
  const { headers, body } = await list(service, { 'accept-encoding': 'br' })
  t.match(headers, { etag: undefined, 'content-encoding': undefined, 'cache-control': 'private, no-cache' })
  t.strictSame(
    JSON.parse(body),
    await query(service.databaseUrl, 'SELECT id::int, name, description FROM categories ORDER BY id')
  )
  counts.reads = 0
  t.match(await list(service, { 'if-none-match': '*' }), { statusCode: 304, headers: { etag: undefined } })
  t.match(await list(service, {}, 'HEAD'), { statusCode: 200, body: '', headers: { 'content-length': undefined } })
  t.equal(counts.reads, 0, 'the start is held')
  for (const other of await Promise.all(Array.from({ length: 5 }, () => list(service)))) t.equal(other.body, body)
  const together = counts.reads
  await list(service)
  t.ok(together < 2 * (counts.reads - together), 'streams that start together share pages')
})

/** Requests the list on a new connection and returns the response, unread. */
async function open({ url, auth }: Service): Promise<IncomingMessage> {
  const [response] = (await once(get(`${url}/v1/categories`, { headers: auth, agent: false }), 'response')) as [
    IncomingMessage
  ]
  return response.on('error', () => {})
}

t.test('beyond RESPONSE_MEMORY a list gets 503 at once, until a slow client has left', async (t) => {
  const service = await startService(t, { config: little })
  await fillLong(service.databaseUrl)
  const slow: IncomingMessage[] = []
  while (slow.at(-1)?.statusCode !== 503) slow.push(await open(service))
  t.ok(slow.length > 2, 'clients share the memory of the start')
  t.equal(slow.at(-1)?.headers['retry-after'], '1')
  t.equal((await service.app.inject({ url: '/livez' })).statusCode, 200)
  slow[0]?.destroy()
  let response = await open(service)
  while (response.statusCode === 503) response = await open(service)
  t.equal(response.statusCode, 200)
  for (const one of [...slow, response]) one.destroy()
})

t.test('a stream that fails closes its connection, so that no client takes it for the whole list', async (t) => {
  const service = await startService(t, { config: little })
  await fillLong(service.databaseUrl)
  const response = await open(service)
  await query(service.databaseUrl, 'ALTER TABLE categories RENAME TO away')
  const ended = once(response, 'error')
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  t.match(await ended, [{ code: 'ECONNRESET' }])
  t.ok(text.startsWith('[{'))
  t.notOk(text.endsWith(']'))
})
