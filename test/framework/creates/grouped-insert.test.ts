import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { createNote, startNotes, storedNames } from '../../support/notes.ts'
import { codeOrStatus, gather, post } from '../../support/requests.ts'

interface Item {
  payload: object
  key?: string
}

/**
 * A group that takes a twentieth of this is cancelled. A slow machine needs
 * seconds until 1,100 creates have gathered.
 */
const longTimeout = 1_200_000

/** A service with the note 1, and the names of its creating statements. */
async function start(t: Test) {
  const statements: string[] = []
  const onStatement = (name: string) =>
    name.startsWith('create-') && statements.push(name)

  const service = await startNotes(t, {
    onStatement,
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

  return { service, statements, sendTo }
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
    t.match(rejected[0]?.headers, {
      'retry-after': '1',
      'cache-control': 'no-store'
    })
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

/** Ways in which PostgreSQL rejects the rows whose names begin with `bad`. */
const rejections = [
  {
    moment: 'in the statement',
    reject: `ALTER TABLE notes
      ADD CONSTRAINT bad CHECK (name NOT LIKE 'bad%')`,
    accept: 'ALTER TABLE notes DROP CONSTRAINT bad'
  },
  {
    moment: 'at the commit',
    reject: `ALTER TABLE notes
      ADD CONSTRAINT bad UNIQUE (description) DEFERRABLE INITIALLY DEFERRED`,
    accept: 'ALTER TABLE notes DROP CONSTRAINT bad'
  },
  {
    moment: 'because a trigger drops its row',
    reject: `
      CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RETURN NULL; END';
      CREATE TRIGGER bad BEFORE INSERT ON notes FOR EACH ROW
        WHEN (NEW.name LIKE 'bad%') EXECUTE FUNCTION drop_row()`,
    accept: 'DROP TRIGGER bad ON notes'
  }
]

for (const { moment, reject, accept } of rejections) {
  t.test(
    `a create that fails ${moment} fails alone, and its key creates later`,
    async (t) => {
      const { service, sendTo } = await start(t)
      const { databaseUrl } = service
      await query(databaseUrl, reject)

      const group = Array.from({ length: 40 }, (_, index) => {
        const isBad = [3, 6].includes(index % 10)
        const payload = isBad
          ? { name: `bad ${index}`, description: 'taken' }
          : { name: `good ${index}` }

        return { isBad, payload, ...keyOf(index) }
      })

      const leaders = [
        { payload: { name: 'leader' } },
        { payload: { name: 'leader' }, key: 'leader' }
      ]
      const send = sendTo('notes')
      const results = await gather(t, service, {
        table: 'notes',
        send,
        leaders,
        followers: group
      })

      t.same(
        results.slice(leaders.length),
        group.map(({ isBad }) => (isBad ? 'internal_error' : 201))
      )

      await query(databaseUrl, accept)
      for (const item of group)
        if (item.key)
          t.equal(await send(item), item.isBad ? 201 : '201 replayed', item.key)

      // The first row, the leaders, 32 good creates, and 4 bad ones with keys.
      t.equal((await storedNames(databaseUrl)).length, 1 + 2 + 32 + 4)
    }
  )
}

t.test(
  'a remark on an unknown note fails alone, without another statement',
  async (t) => {
    const { service, statements, sendTo } = await start(t)
    const group = Array.from({ length: 40 }, (_, index) => {
      const payload = {
        text: `remark ${index}`,
        noteId: index % 5 === 2 ? 2 : 1
      }

      return { payload, ...keyOf(index) }
    })

    const leader = { payload: { text: 'leader', noteId: 1 } }
    const leaders = [leader, { ...leader, key: 'leader' }]
    const results = await gather(t, service, {
      table: 'remarks',
      send: sendTo('remarks'),
      leaders,
      followers: group
    })

    t.same(
      results.slice(leaders.length),
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
  const { service, statements, sendTo } = await start(t)
  const item = (name: string, key: string) => ({ payload: { name }, key })
  const a = item('a', 'one')
  const group = [a, a, item('b', 'one'), item('b', 'two'), a]

  const results = await gather(t, service, {
    table: 'notes',
    send: sendTo('notes'),
    leaders: [item('leader', 'leader')],
    followers: group
  })

  t.same(results, [
    201,
    201,
    '201 replayed',
    'idempotency_key_reused',
    201,
    '201 replayed'
  ])
  t.same(statements, ['create-notes-once', 'create-notes-once'])
  t.same(await storedNames(service.databaseUrl), ['one', 'leader', 'a', 'b'])
})
