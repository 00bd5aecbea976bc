import t from 'tap'
import { GroupedInsert } from '../../../src/framework/creates/grouped-insert.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import {
  createDatabase,
  holdKeys,
  openDatabase
} from '../../support/database.ts'
import { createNote, startNotes } from '../../support/notes.ts'
import { NewNote } from '../../support/notes/generated/columns.ts'
import { Note } from '../../support/notes/generated/json.ts'
import { codeOrStatus } from '../../support/requests.ts'

t.test('only a row that is stored uses an id', async (t) => {
  const service = await startNotes(t, {
    config: { DATABASE_TIMEOUT_MS: 1000 }
  })
  const keyed = (idempotencyKey: string) =>
    codeOrStatus(
      createNote(service, 'x', { 'idempotency-key': idempotencyKey })
    )
  const nextId = async () =>
    (await createNote(service)).json<{ id: number }>().id

  t.equal(await keyed('one'), 201)
  t.equal(await nextId(), 2)

  for (let replay = 0; replay < 3; replay++) {
    t.equal(await keyed('one'), '201 replayed')
  }
  t.equal(await nextId(), 3, 'replays use none')

  const held = await holdKeys(t, service.databaseUrl)
  t.equal(await keyed('one'), 'idempotency_key_in_use')
  await held.release()
  t.equal(await nextId(), 4, 'a request that waits for its key uses none')
})

const notCalledBad = {
  statement: sql`
    SELECT
      input.*,
      CASE name WHEN 'bad' THEN 'invalid' END AS obstacle
    FROM input
  `,
  message: () => 'bad'
}

t.test('a row that its check rejects uses no id', async (t) => {
  const database = openDatabase(t, await createDatabase(t))
  const inserts = new GroupedInsert(database, {
    table: 'notes',
    fromDatabase: { id: `nextval('notes_id_seq')` },
    body: NewNote,
    check: notCalledBad,
    json: Note
  })
  const insert = (name: string) => inserts.insert({ name }, undefined, 'client')

  t.match(await insert('bad'), { outcome: 'invalid' })
  t.match(await insert('good'), { outcome: 'created', response: '{"id":1,' })
})
