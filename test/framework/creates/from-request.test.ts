// Rows with values from the path and the API key, and with jsonb.
import t from 'tap'
import { query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { bearer, codeOrStatus, get, post } from '../../support/requests.ts'

const service = await startNotes(t)
await query(
  service.databaseUrl,
  `INSERT INTO notes (name) VALUES ('x'), ('y');
   ALTER TABLE replies ADD FOREIGN KEY (note_id) REFERENCES notes`
)
const otherOwner = { ...service, auth: bearer(await service.keys.create('x')) }

const reply = '{"text":"a","source":{"line":9007199254740993}}'
const keyed = {
  'content-type': 'application/json',
  'idempotency-key': 'key'
}

const list = async (search: string, owner = service) =>
  (await get(owner, `notes/1/replies${search}`)).json<object[]>()

t.test('a row has the id in the path, its owner, and jsonb', async (t) => {
  const create = (note: number, owner = service) =>
    post(owner, `notes/${note}/replies`, reply, keyed)
  t.match(await create(1), {
    statusCode: 201,
    body: '{"id":1,"noteId":1,"text":"a","source":{"line": 9007199254740993}}'
  })
  t.equal(await codeOrStatus(create(1)), '201 replayed')
  t.equal(await codeOrStatus(create(2)), 'idempotency_key_reused')

  t.same(await list('', otherOwner), [])
  t.equal(await codeOrStatus(create(1, otherOwner)), 201)
  t.match(await list('', otherOwner), [{ id: 2 }])
})

t.test('filters are booleans, or NULL without a parameter', async (t) => {
  for (const pinned of [true, false]) {
    const pin = { text: `${pinned}`, pinned, source: { line: 1 } }
    t.match((await post(service, 'notes/1/replies', pin)).json(), pin)
  }

  t.match(await list(''), [{ text: 'a' }])
  t.match(await list('?pinned=true'), [{ text: 'true' }])
  t.match(await list('?pinned=false&text=false'), [{ text: 'false' }])
  t.same(await list('?pinned=false&text=a'), [])
})

t.test('a reference that does not exist gets its error', async (t) => {
  const response = await post(service, 'notes/3/replies', reply, {
    'content-type': 'application/json'
  })
  t.match(response.json(), { message: 'There is no note with the id 3' })
})
