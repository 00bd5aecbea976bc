// Creates that arrive together share a statement. A row at fault fails alone.
import { DatabaseError } from 'pg'
import t from 'tap'
import { groupedInsert } from '../../../src/framework/creates/grouped-insert.ts'
import { lockTable, openDatabase, query } from '../../support/database.ts'
import { successes } from '../../support/metrics.ts'
import { createNote, startNotes, storedNames } from '../../support/notes.ts'
import { codeOrStatus, gather, post } from '../../support/requests.ts'
import { handled } from '../../support/service.ts'

/** A slow machine needs seconds until the creates have gathered. */
const config = { DATABASE_TIMEOUT_MS: 60_000 }

t.test(
  'creates that arrive together share statements in their order',
  async (t) => {
    const service = await startNotes(t, { config })
    const create = (name: string) => () => createNote(service, name)
    const names = Array.from({ length: 251 }, (_, index) => `name ${index}`)

    const responses = await gather(
      t,
      service,
      'notes',
      create('leader'),
      names.map(create)
    )

    const stored = ['leader', ...names]
    t.same(await storedNames(service.databaseUrl), stored)
    t.same(
      responses.map((one) => one.json<object>()),
      stored.map((name, index) => ({ id: index + 1, name }))
    )
    // One for the leader, one of 250 rows, and one for the last row.
    t.equal(await successes(service, 'createNote'), 3)
  }
)

/** Why PostgreSQL rejects a row: what its trigger does, and the response. */
const rejections = {
  'a trigger drops it': ['RETURN NULL', 'internal_error'],
  'a privilege is missing': ["RAISE USING ERRCODE = ''42501''", 'unavailable'],
  'it has a conflict': ["RAISE USING ERRCODE = ''40001''", 'unavailable']
}

for (const [reason, [reaction, code]] of Object.entries(rejections)) {
  t.test(
    `a row that is rejected because ${reason} fails alone, and its key stays free`,
    async (t) => {
      const service = await startNotes(t, { config })
      const { databaseUrl } = service
      await query(
        databaseUrl,
        `CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN ${reaction}; END';
         CREATE TRIGGER bad BEFORE INSERT ON notes FOR EACH ROW
           WHEN (NEW.name LIKE 'bad%') EXECUTE FUNCTION bad()`
      )
      const create = (name: string) => {
        const key = name.endsWith('keyed') ? { 'idempotency-key': name } : {}
        return codeOrStatus(createNote(service, name, key))
      }
      const sends = (name: string) => () => create(name)
      const group = ['good', 'bad', 'good-keyed', 'bad-keyed'].map(sends)

      t.same(await gather(t, service, 'notes', sends('leader'), group), [
        201,
        201,
        code,
        201,
        code
      ])
      const names = await storedNames(databaseUrl)
      t.same(names.sort(), ['good', 'good-keyed', 'leader'])

      await query(databaseUrl, 'DROP TRIGGER bad ON notes')
      t.equal(await create('bad-keyed'), 201)
      t.equal(await create('good-keyed'), '201 replayed')
    }
  )
}

t.test(
  'creates with and without keys, one key twice, and an unknown note share a statement',
  async (t) => {
    const service = await startNotes(t, { config })
    const { databaseUrl } = service
    await query(databaseUrl, "INSERT INTO notes (name) VALUES ('one')")
    const create = (noteId: number, key?: string) => () =>
      codeOrStatus(
        post(
          service,
          'remarks',
          { text: 'x', noteId },
          key === undefined ? {} : { 'idempotency-key': key }
        )
      )
    const group = [
      create(1),
      create(1, 'once'),
      create(1, 'twice'),
      create(1, 'twice'),
      create(2),
      create(2, 'unknown')
    ]
    const sendAll = () => gather(t, service, 'remarks', create(1), group)

    const invalid = 'invalid_request'
    const again = '202 replayed'
    t.same(await sendAll(), [202, 202, 202, 202, again, invalid, invalid])
    t.same(await sendAll(), [202, 202, again, again, again, invalid, invalid])

    const leaders = await successes(service, 'createRemark')
    t.equal(
      leaders,
      2,
      'others without a key share the statement of those with'
    )
    t.equal((await query(databaseUrl, 'SELECT FROM remarks')).length, 6)
  }
)

const failure = (code: string, constraint?: string) =>
  Object.assign(new DatabaseError('x', 0, 'error'), { code, constraint })
const lockTimeout = failure('55P03')
const keyInUse = failure('23505', 'idempotency_keys_pkey')
const raised = failure('P0001')

/** What attempts do, first that in a group, and what becomes of the row. */
const attempts = {
  'without a key': [
    { results: ['blocked', lockTimeout, 'in_use', 'created'], end: 'created' },
    { results: ['invalid'], end: 'invalid' },
    { results: [raised, raised], end: 'P0001' }
  ],
  // One rejection may be due to the same create on another replica.
  'with a key': [
    { results: [keyInUse, keyInUse, keyInUse, 'replayed'], end: 'replayed' },
    { results: [raised, raised, lockTimeout, 'replayed'], end: 'replayed' },
    { results: ['invalid', raised, raised], end: 'invalid' },
    { results: [raised, raised, 'invalid'], end: 'P0001' }
  ]
}

for (const [which, cases] of Object.entries(attempts))
  for (const { results, end } of cases) {
    const codes = results.map((one) =>
      typeof one === 'string' ? one : one.code
    )
    t.test(`a row ${which} is ${end} after ${codes.join(', ')}`, async (t) => {
      const database = openDatabase(t, 'postgres://localhost')
      const left = [...results]
      const run = () => {
        const result = left.shift() ?? new Error('too many attempts')
        return typeof result === 'string'
          ? Promise.resolve([{ outcome: result }])
          : Promise.reject(result)
      }
      Object.assign(database, { run })
      const statement = database.prepare('x', 'SELECT')
      const statements = { plain: statement, idempotent: statement }
      const insert = groupedInsert(database, statements)

      const hasIdempotencyKey = which === 'with a key'
      t.equal(
        await insert({ values: [], hasIdempotencyKey }).then(
          ({ outcome }) => outcome,
          ({ code }: DatabaseError) => code
        ),
        end
      )
      t.same(left, [])
    })
  }

t.test('2,500 creates of an operation may be unfinished', async (t) => {
  const service = await startNotes(t, { config })
  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const create = () => codeOrStatus(createNote(service))

  const allCame = handled(t, 2500)
  const unfinished = Array.from({ length: 2500 }, create)
  await allCame
  t.equal(await create(), 'unavailable')
  await lock.release()
  t.same(new Set(await Promise.all(unfinished)), new Set([201]))
  t.equal(await create(), 201, 'there is room again')
})
