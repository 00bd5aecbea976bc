import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, startService } from '../support/service.ts'

const list = ({ app, auth }: Service, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url: '/v1/categories', headers: { ...auth, ...headers } })

const create = ({ app, auth }: Service, name: string) =>
  app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })

/** Makes the table hold so many more categories. */
const fill = (databaseUrl: string, rows: number, description = "'number ' || n") =>
  query(
    databaseUrl,
    `INSERT INTO categories (name, description) SELECT 'Category ' || n, ${description} FROM generate_series(1, $1::int) AS n`,
    [rows]
  )

/** A service that counts the statements by which it reads lists. */
async function counting(t: Test, options: { databaseUrl?: string } = {}) {
  const counts = { reads: 0 }
  const service = await startService(t, {
    ...options,
    onStatement: (name) => {
      if (name.endsWith('page-of-categories')) counts.reads++
    }
  })
  return { service, counts }
}

t.test('lists that wait at the same time are answered from one query', async (t) => {
  const { service, counts } = await counting(t)
  await create(service, 'x')
  const lock = await lockTable(t, service.databaseUrl, 'categories')
  const first = list(service)
  await lockAwaited(service.databaseUrl)
  const allCame = handled(t, 50)
  const others = Array.from({ length: 50 }, () => list(service))
  await allCame
  t.equal(counts.reads, 1, 'none joins a query that was sent')
  await lock.release()
  for (const { statusCode, body } of await Promise.all([first, ...others])) {
    t.equal(statusCode, 200)
    t.equal(body, '[{"id":1,"name":"x"}]')
  }
  t.equal(counts.reads, 2)
})

t.test('a query that fails fails only those who waited for it', async (t) => {
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

t.test(
  'whoever got a 201, from this replica or another, sees it in every list that is asked for afterwards',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const replicas = [await startService(t, { databaseUrl }), await startService(t, { databaseUrl })]
    let isDone = false
    // Others list all the time, so that there is always a query to join.
    const others = replicas.map(async (replica) => {
      while (!isDone) await Promise.all([list(replica), list(replica)])
    })
    for (let index = 0; index < 40; index++) {
      const created = await create(replicas[index % 2] as Service, `category ${index}`)
      t.equal(created.statusCode, 201)
      for (const replica of replicas) t.match((await list(replica)).body, `"category ${index}"`)
    }
    isDone = true
    await Promise.all(others)
  }
)

t.test('a list has a strong ETag, by which an unchanged list is a 304 without a body', async (t) => {
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

t.test('what is not a list is not to be stored', async (t) => {
  const service = await startService(t)
  t.equal((await create(service, 'x')).headers['cache-control'], 'no-store')
  t.equal((await create(service, '')).headers['cache-control'], 'no-store')
  for (const url of ['/v1/categories', '/nowhere', '/%zz', '/livez']) {
    t.equal((await service.app.inject({ url })).headers['cache-control'], 'no-store', url)
  }
})

t.test(
  'a list worth compressing is compressed as the client asks, and its 304 takes the tag of any coding',
  async (t) => {
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
  }
)

t.test('a list of any length is complete', async (t) => {
  const { service } = await counting(t)
  let rows = 0
  // At the limits of what is read at once, of what is answered whole, and beyond.
  for (const [more, isWhole] of [
    [199, true],
    [1, true],
    [1, true],
    [19_798, true],
    [1, false],
    [1, false],
    [999, false],
    [2_500, false]
  ] as const) {
    await fill(service.databaseUrl, more)
    rows += more
    const { statusCode, headers, body } = await list(service)
    t.equal(statusCode, 200)
    const ids = (JSON.parse(body) as { id: number }[]).map(({ id }) => id)
    t.equal(ids.length, rows)
    t.ok(
      ids.every((id, index) => id === index + 1),
      'in order'
    )
    t.equal(headers.etag !== undefined, isWhole, `${rows} rows ${isWhole ? 'have' : 'are streamed without'} an ETag`)
  }
})

t.test('a list of long texts is streamed by its size', async (t) => {
  const service = await startService(t)
  await fill(service.databaseUrl, 1_500, "repeat('😀', 1000)")
  const { headers, body } = await list(service, { 'accept-encoding': 'br' })
  t.equal(headers.etag, undefined)
  t.equal(headers['content-encoding'], undefined)
  const categories = JSON.parse(body) as { description: string }[]
  t.equal(categories.length, 1_500)
  t.ok(categories.every(({ description }) => description === '😀'.repeat(1000)))
})

t.test('a list that is streamed answers If-None-Match: * and HEAD without its body', async (t) => {
  const { service, counts } = await counting(t)
  await fill(service.databaseUrl, 25_000)
  const unchanged = await list(service, { 'if-none-match': '*' })
  t.equal(unchanged.statusCode, 304)
  t.equal(unchanged.headers.etag, undefined)
  const before = counts.reads
  const { statusCode, body } = await list(service, {}, 'HEAD')
  t.equal(statusCode, 200)
  t.equal(body, '')
  t.equal(counts.reads, before + 1, 'reads the beginning alone')
})

t.test('streams that begin together share what they read', async (t) => {
  const { service, counts } = await counting(t)
  await fill(service.databaseUrl, 40_000)
  const { body } = await list(service)
  const alone = counts.reads
  counts.reads = 0
  for (const other of await Promise.all(Array.from({ length: 5 }, () => list(service)))) t.equal(other.body, body)
  t.ok(counts.reads < 2 * alone, `${counts.reads} queries for five, ${alone} for one`)
})

/** Asks for the list over a connection of its own and gives the response, unread. */
async function open({ url, auth }: Service): Promise<IncomingMessage> {
  const [response] = (await once(get(`${url}/v1/categories`, { headers: auth, agent: false }), 'response')) as [
    IncomingMessage
  ]
  return response.on('error', () => {})
}

/** More than the buffers of a connection hold. */
const veryLong = 300_000

t.test('beyond the memory for responses a list is a 503 at once, until a slow reader has left', async (t) => {
  const service = await startService(t, { config: { RESPONSE_MEMORY: 3_000_000 } })
  await fill(service.databaseUrl, veryLong)
  const slow: IncomingMessage[] = []
  while (slow.at(-1)?.statusCode !== 503) slow.push(await open(service))
  t.ok(slow.length > 1)
  t.equal(slow.at(-1)?.headers['retry-after'], '1')
  t.equal((await service.app.inject({ url: '/livez' })).statusCode, 200)
  slow[0]?.destroy()
  let answer = await open(service)
  while (answer.statusCode === 503) answer = await open(service)
  t.equal(answer.statusCode, 200)
  for (const response of [...slow, answer]) response.destroy()
})

t.test('a stream that cannot go on ends its connection, so that nobody takes it for the whole list', async (t) => {
  const service = await startService(t)
  await fill(service.databaseUrl, veryLong)
  const response = await open(service)
  await query(service.databaseUrl, 'ALTER TABLE categories RENAME TO away')
  const ended = once(response, 'error')
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  t.match(await ended, [{ code: 'ECONNRESET' }])
  t.ok(text.startsWith('[{'))
  t.notOk(text.endsWith(']'))
})
