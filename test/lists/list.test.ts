import { once } from 'node:events'
import { get, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import type { Reply } from '../../src/openapi/handler.ts'
import { cachedList } from '../../src/lists/cached-list.ts'
import {
  lockAwaited,
  lockTable,
  lockWaits,
  query
} from '../support/database.ts'
import { create, gather, list } from '../support/requests.ts'
import { handled, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const head = ({ app, auth }: Service, headers = {}) =>
  app.inject({
    method: 'HEAD',
    url: '/v1/categories',
    headers: { ...auth, ...headers }
  })

/** Inserts so many categories with a description of this SQL expression. */
const fill = (
  databaseUrl: string,
  rows: number,
  description = "'number ' || n"
) =>
  query(
    databaseUrl,
    `INSERT INTO categories (name, description) SELECT 'Category ' || n, ${description} FROM generate_series(1, $1::int) AS n`,
    [rows]
  )

const stored = (databaseUrl: string) =>
  query(
    databaseUrl,
    'SELECT id::int, name, description FROM categories ORDER BY id'
  )

/** Inserts 20 MB of categories: more than the buffers of a connection hold. */
const fillLong = (databaseUrl: string) =>
  fill(databaseUrl, 5_000, "repeat('x', 4000)")

/** Half of it is less than 20 MB. */
const little = { MAX_RESPONSE_BYTES: 10_000_000 }

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

t.test(
  'requests that wait at the same time share one read, and none joins a read that has started',
  async (t) => {
    const { service, counts } = await counting(t)
    await create(service)
    const requests = Array<Service>(50).fill(service)
    for (const { statusCode, body } of await gather(
      t,
      service,
      'categories',
      list,
      [service],
      requests
    )) {
      t.equal(statusCode, 200)
      t.equal(body, '[{"id":1,"name":"x"}]')
    }
    t.same(
      counts,
      { checks: 2, reads: 1 },
      'an unchanged list is not read again'
    )
  }
)

t.test(
  'a read that fails rejects only the requests that waited for it',
  async (t) => {
    const service = await startService(t)
    const { databaseUrl } = service
    const lock = await lockTable(t, databaseUrl, 'categories')
    const first = list(service)
    await lockAwaited(databaseUrl)
    const secondCame = handled(t, 1)
    const second = list(service)
    await secondCame
    await lockWaits(databaseUrl, 'pg_terminate_backend(pid)')
    t.equal((await first).statusCode, 503)
    await lock.release()
    t.equal((await second).statusCode, 200)
  }
)

t.test(
  'a list has a strong ETag, and If-None-Match with it gets a 304 without a body',
  async (t) => {
    const service = await startService(t)
    await create(service)
    const first = await list(service)
    const etag = String(first.headers.etag)
    t.match(etag, /^"[^"]+"$/)
    const cached = {
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Accept-Encoding'
    }
    t.match(first.headers, cached)
    const unchanged = {
      ...cached,
      etag,
      'content-type': undefined,
      'content-encoding': undefined
    }
    const same = await list(service, { 'if-none-match': `"other", W/${etag}` })
    t.match(same, { statusCode: 304, body: '', headers: unchanged })
    t.equal((await list(service, { 'if-none-match': '*' })).statusCode, 304)
    t.equal((await head(service, { 'if-none-match': etag })).statusCode, 304)
    await create(service, 'y')
    const changed = await list(service, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.not(changed.headers.etag, etag)
    t.equal(
      (
        await service.app.inject({
          url: '/v1/categories',
          headers: { 'if-none-match': '*' }
        })
      ).statusCode,
      401
    )
  }
)

t.test(
  'a long list is compressed by Accept-Encoding, and the tag of any coding gets a 304',
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
      const again = await list(service, {
        'accept-encoding': 'br',
        'if-none-match': String(headers.etag)
      })
      t.equal(again.statusCode, 304)
      t.equal(again.headers.etag, headers.etag)
    }
  }
)

t.test(
  'a list is complete and in the order of the ids at the limits of a page',
  async (t) => {
    const service = await startService(t)
    for (const more of [999, 1, 1]) {
      await fill(service.databaseUrl, more)
      t.strictSame(
        (await list(service)).json(),
        await stored(service.databaseUrl)
      )
    }
  }
)

t.test(
  'a long list is sent whole, by chunks and with its length and ETag, and read once',
  async (t) => {
    const { service, counts } = await counting(t)
    await fillLong(service.databaseUrl)
    // Larger than a chunk, and then so small that pages grow again.
    await fill(service.databaseUrl, 2, "repeat('😀', 100000)")
    await fill(service.databaseUrl, 5_000)
    const { headers, body } = await list(service, { 'accept-encoding': 'br' })
    t.match(headers, {
      etag: /^"/,
      'content-length': String(Buffer.byteLength(body)),
      'content-encoding': undefined
    })
    t.strictSame(JSON.parse(body), await stored(service.databaseUrl))
    const { reads } = counts
    t.match(await head(service), {
      statusCode: 200,
      body: '',
      headers: { 'content-length': headers['content-length'] }
    })
    t.equal(
      (await list(service, { 'if-none-match': String(headers.etag) }))
        .statusCode,
      304
    )
    t.equal((await list(service)).body, body)
    t.equal(counts.reads, reads)
  }
)

t.test(
  'a list beyond half of MAX_RESPONSE_BYTES is streamed, complete and without ETag or compression',
  async (t) => {
    const { service, counts } = await counting(t, little)
    await fillLong(service.databaseUrl)
    const { headers, body } = await list(service, { 'accept-encoding': 'br' })
    t.match(headers, {
      etag: undefined,
      'content-encoding': undefined,
      'cache-control': 'private, no-cache'
    })
    t.strictSame(JSON.parse(body), await stored(service.databaseUrl))
    counts.reads = 0
    t.match(await list(service, { 'if-none-match': '*' }), {
      statusCode: 304,
      headers: { etag: undefined }
    })
    t.match(await head(service), {
      statusCode: 200,
      body: '',
      headers: { 'content-length': undefined }
    })
    t.equal(counts.reads, 0, 'the start is held')
    for (const other of await Promise.all(
      Array.from({ length: 5 }, () => list(service))
    ))
      t.equal(other.body, body)
    const together = counts.reads
    await list(service)
    t.ok(
      together <= 2 * (counts.reads - together),
      'streams that start together share pages'
    )
  }
)

/** Requests the list on a new connection and returns the response, unread. */
async function open({ url, auth }: Service): Promise<IncomingMessage> {
  const sent = get(`${url}/v1/categories`, { headers: auth, agent: false })
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response.on('error', () => {})
}

t.test(
  'beyond MAX_RESPONSE_BYTES a list gets 503 at once, until a slow client has left',
  async (t) => {
    const service = await startService(t, { config: little })
    await fillLong(service.databaseUrl)
    const slow: IncomingMessage[] = []
    while (slow.at(-1)?.statusCode !== 503) slow.push(await open(service))
    t.ok(slow.length > 2, 'clients share the memory of the start')
    t.equal(slow.at(-1)?.headers['retry-after'], '1')
    t.equal((await service.app.inject({ url: '/livez' })).statusCode, 200)
    slow[0]?.destroy()
    const isServed = async () =>
      slow[slow.push(await open(service)) - 1]?.statusCode === 200
    await until(isServed, 'another client is served')
    for (const response of slow) response.destroy()
  }
)

t.test(
  'a stream that fails closes its connection, so that no client takes it for the whole list',
  async (t) => {
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
  }
)
