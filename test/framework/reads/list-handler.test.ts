import t from 'tap'
import { ResponseBuffers } from '../../../src/framework/reads/response-buffers.ts'
import { query } from '../../support/database.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { successes } from '../../support/metrics.ts'
import { gather } from '../../support/requests.ts'

t.test(
  'requests that wait share a read, and join none that has started',
  async (t) => {
    const service = await startNotes(t)
    await createNote(service)
    const list = () => listNotes(service)
    const responses = await gather(t, service, 'notes', list, [list, list])

    for (const { body } of responses) t.equal(body, '[{"id":1,"name":"x"}]')
    t.equal(await successes(service, 'listNotes'), 2)
  }
)

t.test(
  'If-None-Match gets a 304 without a body, until the list changes',
  async (t) => {
    const service = await startNotes(t)
    const cacheHeaders = {
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Accept-Encoding, Origin'
    }
    const list = await listNotes(service)
    t.match(list, { statusCode: 200, headers: cacheHeaders })
    const etag = String(list.headers.etag)

    const known = { 'if-none-match': etag }
    t.match(await listNotes(service, known), {
      statusCode: 304,
      body: '',
      headers: { ...cacheHeaders, etag, 'content-type': undefined }
    })

    await createNote(service)
    t.equal((await listNotes(service, known)).statusCode, 200)
  }
)

t.test('a list beyond MAX_RESPONSE_BUFFER_BYTES gets 507', async (t) => {
  const config = { MAX_RESPONSE_BUFFER_BYTES: 1_000_000 }
  const service = await startNotes(t, { config })
  await query(
    service.databaseUrl,
    `INSERT INTO notes (name, description)
     SELECT 'x', repeat('x', 400) FROM generate_series(1, 5000);
     CREATE SEQUENCE reads;
     ALTER TABLE notes RENAME TO rows;
     CREATE VIEW notes AS
     SELECT id, name || nextval('reads') AS name, description, due_at
     FROM rows`
  )

  const response = await listNotes(service)
  t.match(response, { statusCode: 507, body: /list_too_long/ })
  const reads = await query(service.databaseUrl, 'TABLE reads')
  t.match(reads, [{ last_value: '5000' }], 'it was counted, but not made')
  await query(service.databaseUrl, 'TRUNCATE rows CASCADE')
  t.equal((await listNotes(service)).body, '[]', 'it fits again')
})

t.test('equal lists count as one buffered response', async (t) => {
  const service = await startNotes(t)
  const { databaseUrl } = service
  const long = "INSERT INTO notes (name) VALUES (repeat('x', 5000))"
  await query(databaseUrl, long)
  const tracked = t.capture(ResponseBuffers.prototype, 'track')
  await listNotes(service)
  // A commit elsewhere.
  await query(databaseUrl, 'SELECT pg_current_xact_id()')
  await listNotes(service)

  const [first, second] = tracked().map(({ args: [body] }) => body)
  t.type(first, Buffer)
  t.equal(first, second)
})
