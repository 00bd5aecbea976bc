// Rows with values from the path and the API key, and with jsonb.
import t from 'tap'
import { query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { bearer, codeOrStatus, post } from '../../support/requests.ts'

const service = await startNotes(t)
await query(
  service.databaseUrl,
  `INSERT INTO notes (name) VALUES ('x'), ('y');
   ALTER TABLE replies ADD FOREIGN KEY (note_id) REFERENCES notes`
)
const otherOwner = { ...service, auth: bearer(await service.keys.create('x')) }

const reply = '{"text":"a","pinned":true,"source":{"line":9007199254740993}}'

const create = (note: number, owner = service, key = 'key') =>
  post(owner, `notes/${note}/replies`, reply, {
    'content-type': 'application/json',
    'idempotency-key': key
  })

t.test('a row has the id in the path, its owner, and jsonb', async (t) => {
  t.match(await create(1), {
    statusCode: 201,
    body: '{"id":1,"noteId":1,"text":"a","pinned":true,"source":{"line": 9007199254740993}}'
  })
  t.equal(await codeOrStatus(create(1)), '201 replayed')
  t.equal(await codeOrStatus(create(2)), 'idempotency_key_reused')

  t.equal(await codeOrStatus(create(1, otherOwner)), 201)
  const owners = 'SELECT owner FROM replies ORDER BY id'
  t.same(await query(service.databaseUrl, owners), [
    { owner: '1' },
    { owner: '2' }
  ])
})

t.test('a reference that does not exist gets its error', async (t) => {
  const response = await create(3, service, 'other')
  t.match(response.json(), { message: 'There is no note with the id 3' })
})
