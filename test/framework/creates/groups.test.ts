// Creates that arrive together share a statement. A row at fault fails alone.
import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import {
  createNote,
  listNotes,
  startNotes,
  storedNames
} from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import { codeOrStatus, gather, post } from '../../support/requests.ts'

interface Item {
  payload: object
  key?: string
}

/** A slow machine needs seconds until 1,100 creates have gathered. */
const longTimeout = 600_000

/** A service with the note 1, and the names of its creating statements. */
async function start(t: Test) {
  const statements: string[] = []
  const { lines, log } = recorder()
  const service = await startNotes(t, {
    log,
    onStatement: (name) => {
      if (name.startsWith('create-')) statements.push(name)
    },
    config: { DATABASE_TIMEOUT_MS: longTimeout }
  })
  await query(
    service.databaseUrl,
    "INSERT INTO notes (name, description) VALUES ('one', 'taken')"
  )

  const sendTo =
    (path: string) =>
    ({ payload, key }: Item) => {
      const headers = key === undefined ? {} : { 'idempotency-key': key }
      return codeOrStatus(post(service, path, payload, headers))
    }
  const causes = () =>
    lines
      .filter(({ msg }) => msg === 'internal_error')
      .map(({ err }) => (err as Error).message)

  return { service, statements, sendTo, causes }
}

/** Every second item has a key. */
const keyOf = (index: number) => index % 2 === 1 && { key: `key-${index}` }

const kinds = [
  { table: 'notes', property: 'name', others: {} },
  { table: 'remarks', property: 'text', others: { noteId: 1 } }
]

for (const { table, property, others } of kinds) {
  t.test(
    `${table} that arrive together share a statement, and keep their order`,
    async (t) => {
      const { service, statements } = await start(t)
      const texts = Array.from(
        { length: 100 },
        (_, index) => `text ${index % 10}`
      )

      const responses = await gather(t, service, {
        table,
        send: (text: string) =>
          post(service, table, { [property]: text, ...others }),
        leaders: ['leader'],
        followers: texts
      })

      t.same(statements, [`create-${table}`, `create-${table}`])

      const rows = responses.map((response) =>
        response.json<Record<string, unknown>>()
      )
      const stored = rows.map((row) => row[property])
      t.same(stored, ['leader', ...texts])
      const ids = rows.map(({ id }) => String(id).padStart(20))
      t.same(ids, [...ids].sort())
    }
  )
}

t.test(
  'creates beyond the queue get 503 immediately, and the queue is stored',
  async (t) => {
    const { service } = await start(t)
    const names = Array.from({ length: 1100 }, (_, index) => `name ${index}`)

    const responses = await gather(t, service, {
      table: 'notes',
      send: (name: string) => createNote(service, name),
      leaders: ['leader'],
      followers: names
    })

    const rejected = responses.filter(({ statusCode }) => statusCode === 503)
    t.equal(rejected.length, 100)
    t.match(rejected[0]?.headers, { 'retry-after': '1' })
    t.match(rejected[0]?.json(), {
      code: 'unavailable',
      message: /requests are waiting/
    })

    t.same(await storedNames(service.databaseUrl), [
      'one',
      'leader',
      ...names.slice(0, 1000)
    ])
  }
)

/** Runs a statement for each new note whose name begins with `bad`. */
const triggerOfBad = (body: string) => `
  CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN ${body}; END';
  CREATE TRIGGER bad BEFORE INSERT ON notes FOR EACH ROW
    WHEN (NEW.name LIKE 'bad%') EXECUTE FUNCTION bad()`

const raise = (sqlstate: string) => ({
  moment: `by ${sqlstate}`,
  reject: triggerOfBad(`RAISE EXCEPTION USING ERRCODE = ''${sqlstate}''`)
})

interface Rejection {
  moment: string
  reject: string
  /** By default a 500. */
  code?: string
  /** What the log says. */
  cause?: string
}

/** Ways in which PostgreSQL rejects the rows whose names begin with `bad`. */
const rejections: Rejection[] = [
  {
    moment: 'in the statement',
    reject: `ALTER TABLE notes
      ADD CONSTRAINT bad CHECK (name NOT LIKE 'bad%')`
  },
  {
    moment: 'at the commit',
    reject: `ALTER TABLE notes
      ADD CONSTRAINT bad UNIQUE (description) DEFERRABLE INITIALLY DEFERRED`
  },
  {
    moment: 'because a trigger drops its row',
    reject: triggerOfBad('RETURN NULL'),
    cause: 'a row was not stored in the table notes: a trigger dropped it'
  },
  {
    moment: 'because its response lacks a required property',
    reject: `ALTER TABLE notes ALTER name DROP NOT NULL;
      ${triggerOfBad('NEW.name = NULL; RETURN NEW')}`,
    cause: 'Note.name must not be null'
  },
  ...['MY001', 'P0001', '45000', '54000', '42601'].map(raise),
  { ...raise('42501'), code: 'unavailable' },
  { ...raise('40001'), code: 'unavailable' }
]

for (const rejection of rejections) {
  const { moment, reject, code = 'internal_error' } = rejection

  t.test(
    `a create that fails ${moment} fails alone, and its key stays free`,
    async (t) => {
      const { service, sendTo, causes } = await start(t)
      await query(service.databaseUrl, reject)

      const group = Array.from({ length: 20 }, (_, index) => {
        const isBad = [3, 6].includes(index % 10)
        const payload = isBad
          ? { name: `bad ${index}`, description: 'taken' }
          : { name: `good ${index}` }

        return { isBad, payload, ...keyOf(index) }
      })
      const send = sendTo('notes')
      const leader = { payload: { name: 'leader' } }
      const results = await gather(t, service, {
        table: 'notes',
        send,
        leaders: [leader, { ...leader, key: 'leader' }],
        followers: group
      })

      t.same(
        results.slice(2),
        group.map(({ isBad }) => (isBad ? code : 201))
      )
      t.equal((await storedNames(service.databaseUrl)).length, 1 + 2 + 16)
      if (rejection.cause) t.equal(causes()[0], rejection.cause)

      await query(
        service.databaseUrl,
        `DROP TRIGGER IF EXISTS bad ON notes;
         ALTER TABLE notes DROP CONSTRAINT IF EXISTS bad`
      )
      for (const item of group)
        if (item.key)
          t.equal(await send(item), item.isBad ? 201 : '201 replayed', item.key)
    }
  )
}

t.test('a response shows what triggers have changed', async (t) => {
  const { service } = await start(t)
  await query(
    service.databaseUrl,
    triggerOfBad(`NEW.name = ''good''; RETURN NEW`)
  )
  const keyed = { 'idempotency-key': 'key' }

  for (const headers of [{}, keyed, keyed]) {
    const response = await createNote(service, 'bad', headers)
    t.match(response.json(), { name: 'good' })
  }
  t.same(await storedNames(service.databaseUrl), ['one', 'good', 'good'])
})

t.test(
  'a NULL in a required property fails the list, and the log names it',
  async (t) => {
    const { service, causes } = await start(t)
    await query(
      service.databaseUrl,
      `ALTER TABLE notes ALTER name DROP NOT NULL;
       INSERT INTO notes (name) VALUES (NULL)`
    )

    t.equal(await codeOrStatus(listNotes(service)), 'internal_error')
    t.same(causes(), ['Note.name must not be null'])
  }
)

/** SQLSTATEs that may follow a commit, or come from a pooler. */
for (const sqlstate of ['08006', '25P04', '40003', '57P01', '58030', 'XX000']) {
  t.test(`after ${sqlstate}, the outcome of a create is unknown`, async (t) => {
    const { service } = await start(t)
    await query(service.databaseUrl, raise(sqlstate).reject)

    t.equal(await codeOrStatus(createNote(service, 'bad')), 'outcome_unknown')
  })
}

t.test(
  'a remark on an unknown note fails alone, without another statement',
  async (t) => {
    const { service, statements, sendTo } = await start(t)
    const group = Array.from({ length: 40 }, (_, index) => {
      const noteId = index % 5 === 2 ? 2 : 1
      return { payload: { text: `remark ${index}`, noteId }, ...keyOf(index) }
    })

    const leader = { payload: { text: 'leader', noteId: 1 } }
    const results = await gather(t, service, {
      table: 'remarks',
      send: sendTo('remarks'),
      leaders: [leader, { ...leader, key: 'leader' }],
      followers: group
    })

    t.same(
      results.slice(2),
      group.map(({ payload }) =>
        payload.noteId === 1 ? 202 : 'invalid_request'
      )
    )
    t.same(statements.sort(), [
      'create-remarks',
      'create-remarks',
      'create-remarks-once',
      'create-remarks-once'
    ])

    const stored = await query(service.databaseUrl, 'SELECT FROM remarks')
    t.equal(stored.length, 2 + 32)
  }
)

t.test('one of the creates with one key in one group is stored', async (t) => {
  const { service, sendTo } = await start(t)
  const item = (name: string, key: string) => ({ payload: { name }, key })
  const a = item('a', 'one')

  const results = await gather(t, service, {
    table: 'notes',
    send: sendTo('notes'),
    leaders: [item('leader', 'leader')],
    followers: [a, a, item('b', 'two'), a]
  })

  t.same(results.sort(), [201, 201, 201, '201 replayed', '201 replayed'])
  t.same((await storedNames(service.databaseUrl)).sort(), [
    'a',
    'b',
    'leader',
    'one'
  ])
  t.equal(await sendTo('notes')(item('b', 'one')), 'idempotency_key_reused')
})

t.test('replays use no id', async (t) => {
  const { service } = await start(t)
  const keyed = { 'idempotency-key': 'key' }

  for (let attempt = 0; attempt < 3; attempt++)
    t.match((await createNote(service, 'x', keyed)).json(), { id: 2 })
  t.match((await createNote(service)).json(), { id: 3 })
})
