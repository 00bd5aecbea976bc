import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import { createNote, listNotes, startNotes } from '../../support/notes.ts'
import { codeOrStatus } from '../../support/requests.ts'

/** A service with one note, and the causes of its 500s. */
async function start(t: Test) {
  const { lines, log } = recorder()
  const service = await startNotes(t, { log })
  await createNote(service, 'Dog')

  const causes = () =>
    lines
      .filter(({ msg }) => msg === 'internal_error')
      .map(({ err }) => (err as Error).message)

  return { ...service, causes }
}

t.test(
  'a NULL in a required property fails the list and is named in the log',
  async (t) => {
    const service = await start(t)

    await query(
      service.databaseUrl,
      `ALTER TABLE notes ALTER name DROP NOT NULL;
       INSERT INTO notes (name) VALUES (NULL)`
    )

    t.equal(await codeOrStatus(listNotes(service)), 'internal_error')
    t.same(service.causes(), ['Note.name must not be null'])
  }
)

t.test(
  'a trigger that drops a row fails the create and the log names the table',
  async (t) => {
    const service = await start(t)

    await query(
      service.databaseUrl,
      `CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RETURN NULL; END';
       CREATE TRIGGER drop_row BEFORE INSERT ON notes
         FOR EACH ROW EXECUTE FUNCTION drop_row()`
    )

    const keyed = { 'idempotency-key': 'key' }
    t.equal(await codeOrStatus(createNote(service)), 'internal_error')
    t.equal(
      await codeOrStatus(createNote(service, 'x', keyed)),
      'internal_error'
    )

    const cause =
      'a row was not stored in the table notes: a trigger dropped it'
    t.same(service.causes(), [cause, cause])
  }
)

/** SQLSTATEs that a trigger may raise for one row. */
const raised = [
  { sqlstate: 'MY001', response: 'internal_error' },
  { sqlstate: 'P0001', response: 'internal_error' },
  { sqlstate: '45000', response: 'internal_error' },
  { sqlstate: '54000', response: 'internal_error' },
  { sqlstate: '55000', response: 'internal_error' },
  { sqlstate: '42601', response: 'internal_error' },
  { sqlstate: '42501', response: 'unavailable' },
  { sqlstate: '40001', response: 'unavailable' }
]

for (const { sqlstate, response } of raised) {
  t.test(
    `a row for which a trigger raises ${sqlstate} fails alone, and is not stored`,
    async (t) => {
      const service = await start(t)
      await raiseFor(service.databaseUrl, 'bad', sqlstate)

      const names = ['a', 'b', 'bad', 'c', 'd']
      const creates = names.map((name) =>
        codeOrStatus(createNote(service, name))
      )

      t.same(await Promise.all(creates), [201, 201, response, 201, 201])
      t.same(await query(service.databaseUrl, storedBad), [])
    }
  )
}

/** SQLSTATEs that may follow a commit, or come from a pooler. */
for (const sqlstate of ['08006', '25P04', '40003', '57P01', '58030', 'XX000']) {
  t.test(`after ${sqlstate}, the outcome of a create is unknown`, async (t) => {
    const service = await start(t)
    await raiseFor(service.databaseUrl, 'bad', sqlstate)

    t.equal(await codeOrStatus(createNote(service, 'bad')), 'outcome_unknown')
  })
}

const storedBad = "SELECT FROM notes WHERE name = 'bad'"

/** Raises an error for each row of this name. */
const raiseFor = (url: string, name: string, sqlstate: string) =>
  query(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN RAISE EXCEPTION USING ERRCODE = ''${sqlstate}''; END';
     CREATE TRIGGER fail BEFORE INSERT ON notes
       FOR EACH ROW WHEN (NEW.name = '${name}') EXECUTE FUNCTION fail()`
  )
