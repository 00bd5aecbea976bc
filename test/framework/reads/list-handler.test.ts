import { pbkdf2 } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

import { promisify } from 'node:util'
import t from 'tap'
import { query } from '../../support/database.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { sample, successes } from '../../support/metrics.ts'
import { recorder } from '../../support/recorder.ts'
import { gather } from '../../support/requests.ts'
import { until } from '../../support/until.ts'
import type { Service } from '../../support/service.ts'
import { fillNotes } from '../http/raw-requests.ts'

const service = await startNotes(t)
const { databaseUrl } = service
t.beforeEach(() => query(databaseUrl, 'TRUNCATE notes'))

t.test(
  'requests that wait share a read, and join none that has started',
  async (t) => {
    const before = await successes(service, 'listNotes')
    const list = () => listNotes(service)
    const followers = Array<typeof list>(50).fill(list)
    const responses = await gather(t, service, 'notes', list, followers)

    for (const { body } of responses) t.equal(body, '[]')
    t.equal(await successes(service, 'listNotes'), before + 2)
  }
)

const cacheHeaders = {
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept-Encoding, Origin'
}

t.test(
  'If-None-Match gets a 304 without a body, until the list changes',
  async (t) => {
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

    await createNote(service, 'y')
    const changed = await listNotes(service, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.not(changed.headers.etag, etag)
  }
)

t.test('a list is read again when its last body is compressed', async (t) => {
  await fillNotes(service, 10)
  const before = await successes(service, 'listNotes')
  const codings: unknown[] = []
  const read = async (headers = {}) => {
    const response = await listNotes(service, headers)
    codings.push(response.headers['content-encoding'])
  }

  // Occupies the four threads that compress.
  const other = () => promisify(pbkdf2)('', '', 1_000_000, 64, 'sha512')
  const others = Promise.all([1, 2, 3, 4].map(other))
  const first = read({ 'accept-encoding': 'gzip' })
  const isRead = async () => (await successes(service, 'listNotes')) > before
  await until(isRead, 'the list is read')
  await fillNotes(service, 1)
  await Promise.all([first, read(), others])
  t.same(codings, ['gzip', undefined])
})

t.test('the version of a list names its database and schema', async (t) => {
  const list = service.database.statements.get('listNotes') ?? ''
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
  await fillNotes(service)
  const held = () => sample(service.app, 'response_buffer_bytes')
  const slow = await openList(service)
  const size = Number(slow.headers['content-length'])
  t.equal(await held(), size)

  await query(databaseUrl, 'SELECT pg_current_xact_id()')
  const another = await openList(service)
  t.equal(await held(), size)
  for (const response of [slow, another]) response.destroy()
  await until(async () => (await held()) === 0, 'both have left')
})

t.test(
  'a list beyond MAX_RESPONSE_BUFFER_BYTES gets 507, and the log names it',
  async (t) => {
    const { lines, log } = recorder()
    const config = { MAX_RESPONSE_BUFFER_BYTES: 1_000_000 }
    const small = await startNotes(t, { config, log, databaseUrl })
    await fillNotes(small)
    await query(
      databaseUrl,
      `CREATE SEQUENCE reads;
       ALTER TABLE notes RENAME TO rows;
       CREATE VIEW notes AS
       SELECT id, name || nextval('reads') AS name, description, size, due_at
       FROM rows`
    )

    const response = await listNotes(small)
    t.match(response, { statusCode: 507 })
    const reads = await query(databaseUrl, 'TABLE reads')
    t.match(reads, [{ last_value: '5000' }], 'it was counted, but not made')
    t.match(response.json(), { code: 'list_too_long' })
    const tooLong = lines.filter(({ msg }) => /MAX_RES/.test(String(msg)))
    t.match(tooLong, [{ msg: /^listNotes returns \d+ bytes/ }])

    await query(databaseUrl, 'TRUNCATE rows')
    t.equal((await listNotes(small)).body, '[]', 'it fits again')
  }
)
