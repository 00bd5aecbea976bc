// Rows with values from the path and the API key, and with jsonb.
import t from 'tap'
import { query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { codeOrStatus, get, post } from '../../support/requests.ts'

const body = '{"text":"a","source":{"line":9007199254740993}}'
const json = { 'content-type': 'application/json' }

/** A service with the notes 1 and 2. */
async function start() {
  const service = await startNotes(t)
  await query(
    service.databaseUrl,
    `INSERT INTO notes (name) VALUES ('x'), ('y');
     ALTER TABLE replies ADD FOREIGN KEY (note_id) REFERENCES notes`
  )
  const create = (
    path: string,
    payload: object | string = body,
    headers = {}
  ) => post(service, path, payload, { ...json, ...headers })
  const texts = async (search: string, headers = {}) => {
    const response = await get(service, `notes/1/replies${search}`, headers)
    return response.json<{ text: string }[]>().map(({ text }) => text)
  }

  return { ...service, create, texts }
}

const { keys, create, texts } = await start()

t.test('a row has the id in the path, its owner, and jsonb', async (t) => {
  const keyed = { 'idempotency-key': 'key' }
  const first = await create('notes/1/replies', body, keyed)
  t.equal(
    first.body,
    '{"id":1,"noteId":1,"text":"a","source":{"line": 9007199254740993}}'
  )

  const replay = await create('notes/1/replies', body, keyed)
  t.match(replay, {
    body: first.body,
    headers: { 'idempotent-replayed': 'true' }
  })
  t.equal(
    await codeOrStatus(create('notes/2/replies', body, keyed)),
    'idempotency_key_reused'
  )

  const authorization = `Bearer ${await keys.create('other')}`
  t.same(await texts('', { authorization }), [])
  t.equal(
    await codeOrStatus(
      create('notes/1/replies', body, { ...keyed, authorization })
    ),
    201
  )
  t.same(await texts('', { authorization }), ['a'])
})

t.test('filters are booleans, or NULL without a parameter', async (t) => {
  for (const pinned of [true, false]) {
    const source = { urls: [String(pinned)] }
    const reply = { text: `${pinned}`, pinned, source }
    t.match((await create('notes/1/replies', reply)).json(), reply)
  }

  t.same(await texts(''), ['a'])
  t.same(await texts('?pinned=true'), ['true'])
  t.same(await texts('?pinned=false&text=false'), ['false'])
  t.same(await texts('?pinned=false&text=a'), [])
})

t.test('a reference that does not exist gets its error', async (t) => {
  const response = await create('notes/3/replies')
  t.match(response.json(), { message: 'There is no note with the id 3' })
})
