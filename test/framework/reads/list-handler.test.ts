import { pbkdf2 } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t from 'tap'
import {
  lockAwaited,
  lockTable,
  lockWaits,
  query
} from '../../support/database.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { sample, successes } from '../../support/metrics.ts'
import { gather } from '../../support/requests.ts'
import { until } from '../../support/until.ts'
import { handled, type Service } from '../../support/service.ts'

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

/** Inserts 20 MB of notes: more than the buffers of a connection hold. */
const fillLong = (databaseUrl: string) =>
  fill(databaseUrl, 5_000, "repeat('x', 4000)")

t.test(
  'requests that wait share a read, and join none that has started',
  async (t) => {
    const service = await startNotes(t)
    await createNote(service)
    const list = () => listNotes(service)
    const followers = Array<typeof list>(50).fill(list)
    const responses = await gather(t, service, 'notes', list, followers)

    for (const { statusCode, body } of responses) {
      t.equal(statusCode, 200)
      t.equal(body, '[{"id":1,"name":"x"}]')
    }
    t.equal(await successes(service, 'listNotes'), 2)
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
  vary: 'Authorization, Accept-Encoding, Origin'
}

t.test(
  'If-None-Match gets a 304 without a body, until the list changes',
  async (t) => {
    const service = await startNotes(t)
    await createNote(service)
    const list = await listNotes(service)
    t.match(list.headers, { ...cacheHeaders, etag: /^W\/"[^"]+"$/ })
    const etag = String(list.headers.etag)

    const unchanged = await listNotes(service, {
      'if-none-match': `"other", ${etag}`
    })
    t.match(unchanged, { statusCode: 304, body: '' })
    t.match(unchanged.headers, {
      ...cacheHeaders,
      etag,
      'content-type': undefined
    })

    const any = { 'if-none-match': '*' }
    t.equal((await head(service, any)).statusCode, 304)

    await createNote(service, 'y')
    const changed = await listNotes(service, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.not(changed.headers.etag, etag)
  }
)

t.test('a list is complete and in the order of the ids', async (t) => {
  const service = await startNotes(t)
  const { databaseUrl } = service
  await fill(databaseUrl, 2000)
  await query(databaseUrl, "UPDATE notes SET name = '😀' WHERE id % 7 = 0")
  const response = await listNotes(service)
  const rows = 'SELECT id::int, name, description FROM notes ORDER BY id'
  t.strictSame(response.json(), await query(databaseUrl, rows))

  const { etag } = response.headers
  const length = String(Buffer.byteLength(response.body))
  t.match(await head(service), {
    statusCode: 200,
    body: '',
    headers: { etag, 'content-length': length }
  })
})

t.test(
  'a list beyond MAX_RESPONSE_BUFFER_BYTES gets 507, and the log names it',
  async (t) => {
    const config = { MAX_RESPONSE_BUFFER_BYTES: 1_000_000 }
    const service = await startNotes(t, { config })
    await fillLong(service.databaseUrl)
    await query(
      service.databaseUrl,
      `CREATE SEQUENCE reads;
       ALTER TABLE notes RENAME TO rows;
       CREATE VIEW notes AS
       SELECT id, name || nextval('reads') AS name, description, size, due_at
       FROM rows`
    )

    const response = await listNotes(service)
    t.match(response, { statusCode: 507 })
    const reads = await query(service.databaseUrl, 'TABLE reads')
    t.match(reads, [{ last_value: '5000' }], 'it was counted, but not made')
    t.match(response.json(), { code: 'list_too_long' })
    await query(service.databaseUrl, 'TRUNCATE rows CASCADE')
    t.equal((await listNotes(service)).body, '[]', 'it fits again')
  }
)

t.test('a list is read again when its last body is compressed', async (t) => {
  const service = await startNotes(t)
  const { databaseUrl } = service
  await fill(databaseUrl, 100)
  const codings: unknown[] = []
  const read = async (headers = {}) => {
    const response = await listNotes(service, headers)
    codings.push(response.headers['content-encoding'])
  }

  // Occupies the four threads that compress.
  const other = () => promisify(pbkdf2)('', '', 500_000, 64, 'sha512')
  const others = Promise.all([1, 2, 3, 4].map(other))
  const first = read({ 'accept-encoding': 'gzip' })
  await until(async () => (await successes(service, 'listNotes')) === 1, 'read')
  await fill(databaseUrl, 1)
  await Promise.all([first, read(), others])
  t.same(codings, ['gzip', undefined])
})

t.test('the version of a list names its database and schema', async (t) => {
  const { database, databaseUrl } = await startNotes(t)
  const list = database.statements.get('listNotes') ?? ''
  const [row] = await query(databaseUrl, list, ['', 0])
  const name = new URL(databaseUrl).pathname.slice(1)
  t.match(row, { version: new RegExp(` ${name} public$`) })
})

/** Requests the list on a new connection and returns the response, unread. */
async function openList({ url, auth }: Service): Promise<IncomingMessage> {
  const request = get(`${url}/v1/notes`, { headers: auth, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.on('error', () => {})
}

t.test('after a commit elsewhere, a list stays the same body', async (t) => {
  const MAX_RESPONSE_BUFFER_BYTES = 2 ** 25
  const service = await startNotes(t, { config: { MAX_RESPONSE_BUFFER_BYTES } })
  await fillLong(service.databaseUrl)
  const held = async () =>
    Number(await sample(service.app, 'response_buffer_ratio')) *
    MAX_RESPONSE_BUFFER_BYTES
  const slow = await openList(service)
  const size = Number(slow.headers['content-length'])
  t.equal(await held(), size)

  await query(service.databaseUrl, 'SELECT pg_current_xact_id()')
  const another = await openList(service)
  t.equal(await held(), size)
  for (const response of [slow, another]) response.destroy()
  await until(async () => (await held()) === 0, 'both have left')
})

t.test(
  '150 slow readers of a long list that changes deny it to nobody',
  async (t) => {
    // Two versions of the list fit.
    const limit = 44 * 2 ** 20
    const service = await startNotes(t, {
      // A busy machine takes seconds to read it.
      config: { MAX_RESPONSE_BUFFER_BYTES: limit, DATABASE_TIMEOUT_MS: 60_000 }
    })
    const { databaseUrl } = service
    await fillLong(databaseUrl)
    const slow: IncomingMessage[] = []
    t.teardown(() => slow.forEach((response) => response.destroy()))

    for (let version = 1; version <= 5; version++) {
      const readers = Array.from({ length: 30 }, () => openList(service))
      slow.push(...(await Promise.all(readers)))
      await query(databaseUrl, 'UPDATE notes SET name = $1 WHERE id = 1', [
        `version ${version}`
      ])

      const list = await text(await openList(service))
      t.match(list.slice(0, 30), `"version ${version}"`)
      t.ok(list.endsWith('}]'), 'a steady reader gets the whole list')
      const held = await sample(service.app, 'response_buffer_ratio')
      t.ok(Number(held) <= 1, `${held} of the limit is held`)
    }
    const open = async () =>
      Number(await sample(service.app, 'http_connections'))
    await until(async () => (await open()) <= 60, 'the oldest are closed')
    t.ok((await open()) >= 30, 'the newest are not')
  }
)
