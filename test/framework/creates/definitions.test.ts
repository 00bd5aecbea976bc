// Faults in the definition of an insert: no client may get the response to
// another one.
import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { NewNote } from '../../support/notes/generated/columns.ts'
import { Note } from '../../support/notes/generated/json.ts'
import { GroupedInsert } from '../../../src/framework/creates/grouped-insert.ts'
import {
  claimOf,
  clientOf
} from '../../../src/framework/creates/idempotency-key.ts'
import { messageOfInvalid } from '../../../src/framework/creates/insert.ts'
import { rowJson } from '../../../src/framework/openapi/json.ts'

const notes = {
  table: 'notes',
  fromDatabase: { id: `nextval('notes_id_seq')` },
  body: NewNote,
  json: Note
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
      idempotencyKeyHash: `\\x0${digit}`,
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
    t.doesNotThrow(() => new GroupedInsert(database, notes))
    const body = NewNote.toReversed()
    t.throws(() => new GroupedInsert(database, { ...notes, body }), {
      message:
        'two operations have different statements called create-notes: ' +
        'give one of them another name, as in name: …'
    })
  }
)

t.test('an Idempotency-Key without an API key is an error', (t) => {
  const request = {
    headers: { 'idempotency-key': 'key' },
    apiKeyCheck: undefined,
    body: {}
  }

  t.throws(() => claimOf(request, 'notes'), {
    message: 'the Idempotency-Key of notes needs an API key'
  })
  t.end()
})

t.test('senders without an API key count as one client', (t) => {
  const client = clientOf({ apiKeyCheck: undefined })

  t.equal(clientOf({ apiKeyCheck: { state: 'absent' } }), client)
  t.not(client, 'undefined')
  t.end()
})

t.test('an invalid row without a check is an error', (t) => {
  t.throws(() => messageOfInvalid({ table: 'notes' }, {}), {
    message: 'an insert into notes without a check was invalid'
  })
  t.end()
})

t.test('an insert without a key is rejected at the start', async (t) => {
  const { database } = await startNotes(t)

  t.throws(() => new GroupedInsert(database, { ...notes, fromDatabase: {} }), {
    message:
      'an insert into notes must give each row a unique column id, ' +
      'in fromDatabase, fromService or body. ' +
      'If the table has another unique column, name it as uniqueColumn'
  })
})

t.test(
  'an insert without a value for a column of its response is rejected at the start',
  async (t) => {
    const { database } = await startNotes(t)
    const body = NewNote.filter(({ property }) => property === 'name')

    t.throws(() => new GroupedInsert(database, { ...notes, body }), {
      message:
        'an insert into notes must give a value to description and size ' +
        'and due_at, because its response has them: ' +
        'write an SQL expression in fromDatabase, even if it is the default ' +
        'of the column, or a value in fromService'
    })
  }
)

t.test('the key of a table may have another name than id', async (t) => {
  const { database, databaseUrl } = await startNotes(t)
  await query(
    databaseUrl,
    'CREATE TABLE labels (name text PRIMARY KEY, description text)'
  )

  const inserts = new GroupedInsert(database, {
    table: 'labels',
    uniqueColumn: 'name',
    fromDatabase: {},
    body: NewNote.slice(0, 2),
    json: rowJson<object>(`to_json(name)::text`, ['name'])
  })

  const claim = { idempotencyKeyHash: '\\x01', fingerprint: '\\x02' }
  const insert = (name: string) => inserts.insert({ name }, undefined, 'client')
  const insertOnce = () => inserts.insert({ name: 'c' }, claim, 'client')

  const both = await Promise.all([insert('b'), insert('a')])
  t.match(both, [{ response: '"b"' }, { response: '"a"' }])

  t.match(await insertOnce(), { outcome: 'created', response: '"c"' })
  t.match(await insertOnce(), { outcome: 'replayed', response: '"c"' })

  const stored = await query(databaseUrl, 'SELECT name FROM labels ORDER BY 1')
  t.same(stored, [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
})
