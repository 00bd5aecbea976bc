import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { sample, successes } from '../../support/metrics.ts'
import { gather } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

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

/** Inserts 20 MB of notes: more than the buffers of a connection hold. */
const fill = (databaseUrl: string) =>
  query(
    databaseUrl,
    `INSERT INTO notes (name, description)
     SELECT 'x', repeat('x', 4000) FROM generate_series(1, 5000)`
  )

t.test('a list beyond MAX_RESPONSE_BUFFER_BYTES gets 507', async (t) => {
  const config = { MAX_RESPONSE_BUFFER_BYTES: 1_000_000 }
  const service = await startNotes(t, { config })
  await fill(service.databaseUrl)
  await query(
    service.databaseUrl,
    `CREATE SEQUENCE reads;
     ALTER TABLE notes RENAME TO rows;
     CREATE VIEW notes AS
     SELECT id, name || nextval('reads') AS name, description, size, due_at
     FROM rows`
  )

  const response = await listNotes(service)
  t.match(response, { statusCode: 507, body: /list_too_long/ })
  const reads = await query(service.databaseUrl, 'TABLE reads')
  t.match(reads, [{ last_value: '5000' }], 'it was counted, but not made')
  await query(service.databaseUrl, 'TRUNCATE rows CASCADE')
  t.equal((await listNotes(service)).body, '[]', 'it fits again')
})

/** Requests the list on a new connection and returns the response, unread. */
async function openList(
  t: Test,
  { url, auth }: Service
): Promise<IncomingMessage> {
  const request = get(`${url}/v1/notes`, { headers: auth, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.teardown(() => response.destroy())
  return response
}

t.test('slow readers of a list that changes deny it to nobody', async (t) => {
  // Two versions of the list fit. A busy machine takes seconds to read one.
  const limit = 44 * 2 ** 20
  const service = await startNotes(t, {
    config: { MAX_RESPONSE_BUFFER_BYTES: limit, DATABASE_TIMEOUT_MS: 60_000 }
  })
  const { app, databaseUrl } = service
  await fill(databaseUrl)
  const held = async () =>
    Math.round(Number(await sample(app, 'response_buffer_ratio')) * limit)

  const slow = await openList(t, service)
  const size = Number(slow.headers['content-length'])
  // A commit elsewhere.
  await query(databaseUrl, 'SELECT pg_current_xact_id()')
  const alsoSlow = await openList(t, service)
  t.equal(await held(), size, 'both get the same body')

  for (const name of ['second', 'third']) {
    await query(databaseUrl, `UPDATE notes SET name = '${name}' WHERE id = 1`)
    await openList(t, service)
    const list = await text(await openList(t, service))
    t.match(list.slice(0, 30), name)
    t.ok(list.endsWith('}]'), 'a steady reader gets the whole list')
  }
  for (const response of [slow, alsoSlow])
    await t.rejects(text(response), { code: 'ECONNRESET' })
})
