// Creates that arrive together share a statement. A row at fault fails alone.
import { EventEmitter, once } from 'node:events'
import type { Logger } from 'pino'
import Fastify from 'fastify'
import { DatabaseError } from 'pg'
import t, { type Test } from 'tap'
import { createHandler } from '../../../src/framework/creates/create-handler.ts'
import { groupedInsert } from '../../../src/framework/creates/grouped-insert.ts'
import type { Use } from '../../../src/framework/postgres/database.ts'
import { openDatabase, query } from '../../support/database.ts'
import { successes } from '../../support/metrics.ts'
import { noteJson } from '../../support/notes/generated/json.ts'
import { createNote, startNotes, storedNames } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import { codeOrStatus, gather, post } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

interface Item {
  payload: object
  key?: string
}

/** A slow machine needs seconds until 1,100 creates have gathered. */
const longTimeout = 600_000

/** Starts a service with the note 1, whose description is `taken`. */
async function start(t: Test, log?: Logger): Promise<Service> {
  const config = { DATABASE_TIMEOUT_MS: longTimeout }
  const service = await startNotes(t, { config, ...(log && { log }) })
  await query(
    service.databaseUrl,
    "INSERT INTO notes (name, description) VALUES ('one', 'taken')"
  )
  return service
}

const send = (service: Service, path: string, { payload, key }: Item) =>
  post(service, path, payload, key ? { 'idempotency-key': key } : {})

/** The codes or statuses of items that are sent together, behind a leader. */
async function resultsOf(
  t: Test,
  service: Service,
  table: string,
  leader: object,
  followers: Item[]
) {
  const sends = (item: Item) => () => codeOrStatus(send(service, table, item))
  const first = sends({ payload: leader })
  const all = await gather(t, service, table, first, followers.map(sends))
  return all.slice(1)
}

/** Every second item has a key. */
const keyOf = (index: number) => ({ key: index % 2 ? `key-${index}` : '' })

t.test(
  'creates that arrive together share statements in their order',
  async (t) => {
    const service = await start(t)
    const sent = Array.from({ length: 600 }, (_, index) => `name ${index}`)

    const creates = (name: string) => () => createNote(service, name)
    const [leader, ...followers] = await gather(
      t,
      service,
      'notes',
      creates('leader'),
      sent.map(creates)
    )
    t.equal(leader?.statusCode, 201)

    // One for the leader, and those of 250 rows.
    t.equal(await successes(service, 'createNote'), 4)
    const { databaseUrl } = service
    t.same(await storedNames(databaseUrl), ['one', 'leader', ...sent])
    t.same(
      followers.map((one) => one.json<object>()),
      sent.map((name, index) => ({ id: index + 3, name }))
    )
  }
)

/** Runs a statement for each new note whose name begins with `bad`. */
const triggerOfBad = (body: string) => `
  CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN ${body}; END';
  CREATE TRIGGER bad BEFORE INSERT ON notes FOR EACH ROW
    WHEN (NEW.name LIKE 'bad%') EXECUTE FUNCTION bad()`

/** Ways in which PostgreSQL rejects the rows whose names begin with `bad`. */
const rejections: Record<
  string,
  { reject: string; code?: string; cause?: string }
> = {
  'in the statement': {
    reject: "ALTER TABLE notes ADD CONSTRAINT bad CHECK (name NOT LIKE 'bad%')"
  },
  'at the commit': {
    reject: `ALTER TABLE notes
      ADD CONSTRAINT bad UNIQUE (description) DEFERRABLE INITIALLY DEFERRED`
  },
  'because a trigger drops its row': {
    reject: triggerOfBad('RETURN NULL'),
    cause:
      'a row was not stored in the table notes: a trigger dropped it, or changed its id'
  },
  'because its response lacks a required property': {
    reject: `ALTER TABLE notes ALTER name DROP NOT NULL;
      ${triggerOfBad('NEW.name = NULL; RETURN NEW')}`,
    cause: 'Note.name must not be null'
  },
  'for a missing privilege': {
    reject: triggerOfBad("RAISE USING ERRCODE = ''42501''"),
    code: 'unavailable'
  },
  'for a conflict': {
    reject: triggerOfBad("RAISE USING ERRCODE = ''40001''"),
    code: 'unavailable'
  }
}

for (const [reason, rejection] of Object.entries(rejections)) {
  t.test(
    `a create that fails ${reason} fails alone, and its key stays free`,
    async (t) => {
      const { lines, log } = recorder()
      const service = await start(t, log)
      const { databaseUrl } = service
      await query(databaseUrl, rejection.reject)

      const group = Array.from({ length: 20 }, (_, index) => {
        const isBad = [3, 6].includes(index % 10)
        const payload = isBad
          ? { name: `bad ${index}`, description: 'taken' }
          : { name: `good ${index}` }

        return { isBad, payload, ...keyOf(index) }
      })
      const { code = 'internal_error', cause } = rejection
      t.same(
        await resultsOf(t, service, 'notes', { name: 'leader' }, group),
        group.map(({ isBad }) => (isBad ? code : 201))
      )
      t.equal((await storedNames(databaseUrl)).length, 1 + 1 + 16)
      if (cause !== undefined)
        t.ok(lines.some(({ err }) => (err as Error)?.message === cause))

      await query(
        databaseUrl,
        `DROP TRIGGER IF EXISTS bad ON notes;
         ALTER TABLE notes DROP CONSTRAINT IF EXISTS bad`
      )
      for (const { isBad, ...item } of group.filter(({ key }) => key))
        t.equal(
          await codeOrStatus(send(service, 'notes', item)),
          isBad ? 201 : '201 replayed'
        )
    }
  )
}

t.test('a response shows what triggers have changed', async (t) => {
  const service = await start(t)
  const { databaseUrl } = service
  await query(databaseUrl, triggerOfBad(`NEW.name = ''good''; RETURN NEW`))

  for (const key of ['', 'key', 'key']) {
    const item = { payload: { name: 'bad' }, key }
    const response = await send(service, 'notes', item)
    t.match(response.json(), { name: 'good' })
  }
  t.same(await storedNames(databaseUrl), ['one', 'good', 'good'])
})

t.test(
  'creates with and without keys, and one on an unknown note, are one statement',
  async (t) => {
    const service = await start(t)
    const group = Array.from({ length: 40 }, (_, index) => {
      const noteId = index % 5 === 2 ? 2 : 1
      return { payload: { text: `remark ${index}`, noteId }, ...keyOf(index) }
    })
    const sendGroup = () =>
      resultsOf(t, service, 'remarks', { text: 'leader', noteId: 1 }, group)
    const results = (ofKeyed: string | number) =>
      group.map(({ payload: { noteId }, key }) => {
        if (noteId === 2) return 'invalid_request'
        return key ? ofKeyed : 202
      })

    t.same(await sendGroup(), results(202))
    t.same(await sendGroup(), results('202 replayed'))

    // Those of the leaders, and those of the groups, of which each is followed
    // by the second attempt of the rows that are rejected and have a key.
    t.equal(await successes(service, 'createRemark'), 2)
    t.equal(await successes(service, 'createRemark-idempotent'), 4)
    const { databaseUrl } = service
    const remarks = await query(databaseUrl, 'SELECT FROM remarks')
    t.equal(remarks.length, 2 + 32 + 16)
    const keys = await query(databaseUrl, 'SELECT FROM idempotency_keys')
    t.equal(keys.length, 16)
  }
)

t.test('one of the creates with one key in one group is stored', async (t) => {
  const service = await start(t)
  const item = (name: string, key: string) => ({ payload: { name }, key })
  const a = item('a', 'one')

  const group = [a, a, item('b', 'two'), a, item('c', '')]
  const codes = await resultsOf(t, service, 'notes', { name: 'leader' }, group)
  t.same(codes.sort(), [201, 201, 201, '201 replayed', '201 replayed'])
  const names = await storedNames(service.databaseUrl)
  t.same(names.sort(), ['a', 'b', 'c', 'leader', 'one'])
  // The replays share the second statement, unless their pauses end apart.
  t.ok((await successes(service, 'createNote-idempotent')) <= 3)
})

const failure = (code: string) =>
  Object.assign(new DatabaseError('x', 0, 'error'), { code })
const lockTimeout = failure('55P03')
const raised = failure('P0001')

/** What attempts do, and what becomes of rows without and with a key. */
const attempts = [
  {
    results: ['blocked', lockTimeout, 'in_use', 'created'],
    uses: ['writes', 'writes', 'singleRows', 'singleRows']
  },
  { results: ['invalid', 'replayed'], isOnlyWithKey: true },
  { results: ['invalid', 'in_use', 'replayed'], isOnlyWithKey: true },
  { results: [raised, raised, 'replayed'], isOnlyWithKey: true },
  { results: [raised, raised, lockTimeout, 'replayed'], isOnlyWithKey: true },
  { results: ['invalid', raised, raised], outcome: 'invalid' },
  { results: ['invalid', 'invalid'], outcome: 'invalid' },
  { results: [raised, raised, 'invalid'], outcome: 'P0001' }
]

for (const { results, uses, outcome, isOnlyWithKey } of attempts) {
  const names = results.map((one) => (typeof one === 'string' ? one : one.code))

  for (const hasIdempotencyKey of [false, true]) {
    t.test(
      `after ${names.join(', ')}, with a key: ${hasIdempotencyKey}`,
      async (t) => {
        const database = openDatabase(t, 'postgres://localhost')
        const left = [...results]
        const runs: string[] = []
        const run = (use: Use) => {
          runs.push(use)
          const result = left.shift()
          if (typeof result === 'string')
            return Promise.resolve([{ outcome: result }])
          return Promise.reject(result ?? new Error('too many attempts'))
        }
        Object.assign(database, { run })
        const statement = database.prepare('x', 'SELECT')
        const insert = groupedInsert(database, {
          plain: statement,
          idempotent: statement
        })

        const isRejected = isOnlyWithKey === true && !hasIdempotencyKey
        const last = outcome ?? names.at(-1)
        const expected = isRejected ? names[0] : last
        t.equal(
          await insert({ values: [], hasIdempotencyKey }).then(
            (inserted) => inserted.outcome,
            (error: DatabaseError) => error.code
          ),
          expected
        )
        if (uses !== undefined) t.same(runs, uses)
      }
    )
  }
}

/** What becomes of a row with a key whose attempt takes all of its time. */
const lateAttempts = [
  { result: failure('23505'), outcome: 'blocked' },
  { result: 'invalid', outcome: 'blocked' },
  { result: 'blocked', outcome: 'blocked' },
  { result: 'in_use', outcome: 'in_use' },
  { result: 'replayed', outcome: 'replayed' }
]

for (const { result, outcome } of lateAttempts) {
  const name = typeof result === 'string' ? result : result.code
  t.test(`no attempt follows a late one that was ${name}`, async (t) => {
    const now = performance.now.bind(performance)
    let passed = 0
    t.intercept(performance, 'now', { value: () => now() + passed })
    const timeoutMs = 60_000
    const database = openDatabase(t, 'postgres://localhost', timeoutMs)
    const run = () => {
      passed += timeoutMs
      return typeof result === 'string'
        ? Promise.resolve([{ outcome: result }])
        : Promise.reject(result)
    }
    Object.assign(database, { run })
    const statement = database.prepare('x', 'SELECT')
    const statements = { plain: statement, idempotent: statement }

    const insert = groupedInsert(database, statements)
    t.match(await insert({ values: [], hasIdempotencyKey: true }), { outcome })
    t.equal(passed, timeoutMs)
  })
}

t.test('2,500 creates of an operation may be unfinished', async (t) => {
  const database = openDatabase(t, 'postgres://localhost', 60_000)
  const lock = new EventEmitter()
  const released = once(lock, 'released')
  const run = async (_use: Use, _query: unknown, [rows]: [string]) => {
    await released
    const created = { outcome: 'created', response: '{"name":"a"}' }
    return (JSON.parse(rows) as []).map(() => created)
  }
  Object.assign(database, { run })
  const app = Fastify()
  app.post<{
    Body: { name: string }
    Headers: { 'idempotency-key'?: string }
  }>(
    '/',
    createHandler(database, {
      operationId: 'x',
      status: 201,
      table: 'x',
      newId: '1',
      bodyColumns: [],
      json: noteJson
    })
  )
  const create = async () => {
    const response = await app.inject({ method: 'POST', url: '/', payload: {} })
    return response.json<{ code?: string; name?: string }>()
  }

  const unfinished = Array.from({ length: 2500 }, create)
  t.match(await create(), { code: 'overloaded' })
  lock.emit('released')
  const names = (await Promise.all(unfinished)).map(({ name }) => name)
  t.same(new Set(names), new Set(['a']))
  t.match(await create(), { name: 'a' }, 'there is room again')
})
