// Faults in the definition of an insert: no client may get the response to
// another one.
import { startNotes } from '../support/notes.ts'
import t, { type Test } from 'tap'
import { NewNote } from '../support/notes/generated/columns.ts'
import { Note } from '../support/notes/generated/json.ts'
import { GroupedInsert } from '../../src/creates/grouped-insert.ts'
import { claimOf } from '../../src/creates/idempotency-key.ts'

const notes = {
  table: 'notes',
  fromDatabase: { id: `nextval('notes_id_seq')` },
  body: NewNote,
  row: Note
}

/** An insert of notes whose check is wrong. */
async function insertWith(t: Test, statement: string) {
  const { database } = await startNotes(t)
  const check = { statement, message: () => 'invalid' }

  // By this name, its statements are not those of the service.
  const table = 'public.notes'

  return new GroupedInsert(database, { ...notes, table, check })
}

const checks = [
  {
    fault: 'repeats a row',
    statement: `
      SELECT input.*, 'invalid' AS obstacle
      FROM input
      CROSS JOIN generate_series(1, 2)`
  },
  {
    fault: 'drops a row',
    statement: `
      SELECT input.*, 'invalid' AS obstacle
      FROM input
      WHERE name <> 'a'`
  },
  {
    fault: 'drops a row and repeats another',
    statement: `
      SELECT input.*, 'invalid' AS obstacle
      FROM input
      CROSS JOIN generate_series(1, 2)
      WHERE name <> 'a'`
  }
]

for (const { fault, statement } of checks) {
  t.test(`a check that ${fault} fails the creates of its group`, async (t) => {
    const inserts = await insertWith(t, statement)
    const claim = (digit: string) => ({
      keyHash: `\\x0${digit}`,
      fingerprint: '\\x00'
    })
    const results = await Promise.allSettled([
      inserts.insert({ name: 'a' }, undefined, 'client'),
      inserts.insert({ name: 'b' }, undefined, 'client'),
      inserts.insert({ name: 'a' }, claim('1'), 'client'),
      inserts.insert({ name: 'b' }, claim('2'), 'client')
    ])

    // The rows may be stored.
    const codes = ['outcome_unknown', 'outcome_unknown_with_key']
    const expected = codes.flatMap((code) => [code, code])

    for (const [index, result] of results.entries()) {
      t.match(result, {
        status: 'rejected',
        reason: {
          code: expected[index],
          cause: { message: /did not return one outcome for each row/ }
        }
      })
    }
  })
}

t.test(
  'two inserts that would share the name of a statement fail at the start',
  async (t) => {
    const { database } = await startNotes(t)
    const row = Note

    t.doesNotThrow(() => new GroupedInsert(database, notes))
    t.throws(() => new GroupedInsert(database, { ...notes, row, body: [] }), {
      message: 'two operations name different statements create-notes'
    })
  }
)

t.test('an Idempotency-Key without an API key is an error', (t) => {
  const request = {
    headers: { 'idempotency-key': 'key' },
    keyCheck: undefined,
    body: {}
  }

  t.throws(() => claimOf(request, 'pets'), {
    message: 'the Idempotency-Key of pets needs an API key'
  })
  t.end()
})

t.test('an insert without an id is rejected at the start', async (t) => {
  const { database } = await startNotes(t)

  t.throws(() => new GroupedInsert(database, { ...notes, fromDatabase: {} }), {
    message:
      'an insert into notes must give each row a unique column id, ' +
      'in fromDatabase, fromService or body'
  })
})
