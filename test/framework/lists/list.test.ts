import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  lockAwaited,
  lockTable,
  lockWaits,
  query
} from '../../support/database.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { gather } from '../../support/requests.ts'
import { handled, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const head = ({ app, auth }: Service, headers = {}) =>
  app.inject({
    method: 'HEAD',
    url: '/v1/notes',
    headers: { ...auth, ...headers }
  })

/** Inserts notes whose description is an SQL expression. */
const fill = (
  databaseUrl: string,
  rows: number,
  description = "'number ' || n"
) =>
  query(
    databaseUrl,
    `INSERT INTO notes (name, description)
     SELECT 'Note ' || n, ${description}
     FROM generate_series(1, $1::int) AS n`,
    [rows]
  )

const stored = (databaseUrl: string) =>
  query(databaseUrl, 'SELECT id::int, name, description FROM notes ORDER BY id')

/** Inserts 20 MB of notes: more than the buffers of a connection hold. */
const fillLong = (databaseUrl: string) =>
  fill(databaseUrl, 5_000, "repeat('x', 4000)")

/** Bytes. A list of 20 MB exceeds half of it, and so is streamed. */
const littleMemory = { MAX_RESPONSE_BUFFER_BYTES: 10_000_000 }

/** Starts a service that counts the change checks and the reads of its list. */
async function startCounting(t: Test, config = {}) {
  const counts = { checks: 0, reads: 0 }
  const service = await startNotes(t, {
    config,
    onStatement: (name) => {
      if (name === 'table-version') counts.checks++
      if (name.endsWith('piece-of-notes')) counts.reads++
    }
  })

  return { service, counts }
}

t.test(
  'requests that wait share one read, and none joins a read that has started',
  async (t) => {
    const { service, counts } = await startCounting(t)
    await createNote(service)
    const responses = await gather(t, service, {
      table: 'notes',
      send: () => listNotes(service),
      leaders: ['leader'],
      followers: Array<string>(50).fill('follower')
    })

    for (const { statusCode, body } of responses) {
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
    const service = await startNotes(t)
    const { databaseUrl } = service
    const lock = await lockTable(t, databaseUrl, 'notes')
    const first = listNotes(service)
    await lockAwaited(databaseUrl)
    const secondCame = handled(t, 1)
    const second = listNotes(service)
    await secondCame

    await lockWaits(databaseUrl, 'pg_terminate_backend(pid)')
    t.equal((await first).statusCode, 503)
    await lock.release()
    t.equal((await second).statusCode, 200)
  }
)

const cacheHeaders = {
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept-Encoding'
}

t.test('a list has a strong ETag, and must be checked by caches', async (t) => {
  const service = await startNotes(t)
  await createNote(service)
  const { headers } = await listNotes(service)
  t.match(headers, cacheHeaders)
  t.match(headers.etag, /^"[^"]+"$/)
})

t.test(
  'If-None-Match with the ETag gets a 304 without a body, until the list changes',
  async (t) => {
    const service = await startNotes(t)
    await createNote(service)
    const etag = String((await listNotes(service)).headers.etag)

    const unchanged = await listNotes(service, {
      'if-none-match': `"other", W/${etag}`
    })
    t.match(unchanged, { statusCode: 304, body: '' })
    t.match(unchanged.headers, {
      ...cacheHeaders,
      etag,
      'content-type': undefined,
      'content-encoding': undefined
    })

    const any = await listNotes(service, { 'if-none-match': '*' })
    t.equal(any.statusCode, 304)

    const unchangedHead = await head(service, { 'if-none-match': etag })
    t.equal(unchangedHead.statusCode, 304)

    await createNote(service, 'y')
    const changed = await listNotes(service, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.not(changed.headers.etag, etag)
  }
)

t.test('If-None-Match does not replace an API key', async (t) => {
  const { app } = await startNotes(t)
  const { statusCode } = await app.inject({
    url: '/v1/notes',
    headers: { 'if-none-match': '*' }
  })
  t.equal(statusCode, 401)
})

t.test(
  'a long list is compressed, and the tag of any coding gets a 304',
  async (t) => {
    const service = await startNotes(t)
    await fill(service.databaseUrl, 100)
    const plain = await listNotes(service)
    t.equal(plain.headers['content-encoding'], undefined)

    const gzip = await listNotes(service, { 'accept-encoding': 'gzip' })
    t.equal(gzip.headers['content-encoding'], 'gzip')
    t.equal(gunzipSync(gzip.rawPayload).toString(), plain.body)
    t.not(gzip.headers.etag, plain.headers.etag)

    for (const { etag } of [plain.headers, gzip.headers]) {
      const again = await listNotes(service, {
        'accept-encoding': 'br',
        'if-none-match': String(etag)
      })
      t.equal(again.statusCode, 304)
      t.equal(again.headers.etag, etag)
    }
  }
)

t.test(
  'a list is complete and in the order of the ids at the limits of a piece',
  async (t) => {
    const service = await startNotes(t)
    for (const more of [999, 1, 1]) {
      await fill(service.databaseUrl, more)
      const response = await listNotes(service)
      t.strictSame(response.json(), await stored(service.databaseUrl))
    }
  }
)

t.test(
  'a list with a row that cannot be written as JSON is a 500',
  async (t) => {
    const service = await startNotes(t)
    await createNote(service)
    await query(
      service.databaseUrl,
      `ALTER TABLE notes ALTER name DROP NOT NULL;
       INSERT INTO notes (name) VALUES (NULL)`
    )
    t.equal((await listNotes(service)).statusCode, 500)
  }
)

t.test(
  'a long list has its length and an ETag, and is read once',
  async (t) => {
    const { service, counts } = await startCounting(t)
    await fillLong(service.databaseUrl)
    // Larger than a chunk, and then so small that pages grow again.
    await fill(service.databaseUrl, 2, "repeat('😀', 100000)")
    await fill(service.databaseUrl, 5_000)

    const { headers, body } = await listNotes(service, {
      'accept-encoding': 'br'
    })
    t.match(headers, {
      etag: /^"/,
      'content-length': String(Buffer.byteLength(body)),
      'content-encoding': undefined
    })
    t.strictSame(JSON.parse(body), await stored(service.databaseUrl))

    const readsBefore = counts.reads
    t.match(await head(service), {
      statusCode: 200,
      body: '',
      headers: { 'content-length': headers['content-length'] }
    })
    const unchanged = await listNotes(service, {
      'if-none-match': headers.etag
    })
    t.equal(unchanged.statusCode, 304)
    t.equal((await listNotes(service)).body, body)
    t.equal(counts.reads, readsBefore)
  }
)

t.test(
  'a list beyond half of MAX_RESPONSE_BUFFER_BYTES is streamed',
  async (t) => {
    const service = await startNotes(t, { config: littleMemory })
    await fillLong(service.databaseUrl)
    const { headers, body } = await listNotes(service, {
      'accept-encoding': 'br'
    })
    t.match(headers, {
      etag: undefined,
      'content-encoding': undefined,
      'cache-control': 'private, no-cache'
    })
    t.strictSame(JSON.parse(body), await stored(service.databaseUrl))
  }
)

t.test('the start of a streamed list is held', async (t) => {
  const { service, counts } = await startCounting(t, littleMemory)
  await fillLong(service.databaseUrl)
  await listNotes(service)
  counts.reads = 0

  t.match(await listNotes(service, { 'if-none-match': '*' }), {
    statusCode: 304,
    headers: { etag: undefined }
  })
  t.match(await head(service), {
    statusCode: 200,
    body: '',
    headers: { 'content-length': undefined }
  })
  t.equal(counts.reads, 0)
})

t.test('streams that start together share pieces', async (t) => {
  const { service, counts } = await startCounting(t, littleMemory)
  await fillLong(service.databaseUrl)
  const { body } = await listNotes(service)

  counts.reads = 0
  const together = await Promise.all(
    Array.from({ length: 5 }, () => listNotes(service))
  )
  for (const other of together) t.equal(other.body, body)
  const readsOfFive = counts.reads

  counts.reads = 0
  await listNotes(service)
  t.ok(readsOfFive <= 2 * counts.reads)
})

/** Requests the list on a new connection and returns the response, unread. */
async function openList({ url, auth }: Service): Promise<IncomingMessage> {
  const request = get(`${url}/v1/notes`, { headers: auth, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.on('error', () => {})
}

t.test(
  'beyond MAX_RESPONSE_BUFFER_BYTES, a list gets 503 until a client leaves',
  async (t) => {
    const service = await startNotes(t, { config: littleMemory })
    await fillLong(service.databaseUrl)
    const responses: IncomingMessage[] = []
    const openNext = async () => {
      const response = await openList(service)
      responses.push(response)
      return response
    }

    let rejected = await openNext()
    while (rejected.statusCode !== 503) rejected = await openNext()
    t.ok(responses.length > 2, 'clients share the memory of the start')
    t.equal(rejected.headers['retry-after'], '1')
    t.equal((await service.app.inject({ url: '/livez' })).statusCode, 200)

    responses[0]?.destroy()
    await until(
      async () => (await openNext()).statusCode === 200,
      'another client is served'
    )
    for (const response of responses) response.destroy()
  }
)

t.test('a stream that fails closes its connection', async (t) => {
  const service = await startNotes(t, { config: littleMemory })
  await fillLong(service.databaseUrl)
  const response = await openList(service)
  await query(service.databaseUrl, 'ALTER TABLE notes RENAME TO away')
  await t.rejects(text(response), { code: 'ECONNRESET' })
})
