import t, { type Test } from 'tap'
import {
  createDatabase,
  createRoles,
  lockTable,
  lockWaits,
  openDatabase,
  query
} from '../../support/database.ts'
import {
  createNote,
  listNotes,
  startNotes,
  storedNames,
  makeKey
} from '../../support/notes.ts'
import {
  cancelRequest,
  errorResponse,
  startProxy
} from '../../support/proxy.ts'
import { recorder } from '../../support/recorder.ts'
import { bearer, codeOrStatus } from '../../support/requests.ts'
import { until } from '../../support/until.ts'

const unavailable = {
  code: 'unavailable',
  message: 'The service is unavailable; the request had no effect: retry',
  status: 503
}
const unknown = {
  code: 'outcome_unknown',
  message:
    'The database did not confirm the write, which may have taken effect: ' +
    'check before you repeat a POST without an Idempotency-Key',
  status: 503
}

/** What the log says of outages, except of background work. */
const outagesIn = (lines: Record<string, unknown>[]) =>
  lines
    .map(({ msg }) => String(msg))
    .filter((msg) => /unavailable for (reads|writes)/.test(msg))

/** A service behind a proxy, with one note, and the lines of its log. */
async function start(t: Test, config = {}) {
  const { lines, log } = recorder()
  const databaseUrl = await createDatabase(t)
  const proxy = await startProxy(t, databaseUrl)
  const service = await startNotes(t, { databaseUrl: proxy.url, config, log })
  t.equal(await codeOrStatus(createNote(service, 'first')), 201)
  return { proxy, service, databaseUrl, lines }
}

t.test('a database that cannot be reached is a 503, logged once', async (t) => {
  const { proxy, service, lines } = await start(t)
  const probe = async () => (await service.app.inject('/readyz')).statusCode
  const { serverPort } = proxy.state
  proxy.state.serverPort = 1 // Nothing listens there.
  proxy.cut()

  const unknownKey = { ...service, auth: bearer(makeKey()) }
  for (const response of [
    await listNotes(service),
    await createNote(service),
    await listNotes(unknownKey)
  ]) {
    t.match(response, { statusCode: 503, headers: { 'retry-after': '1' } })
    t.same(response.json(), unavailable)
  }
  t.same([await probe(), await probe()], [503, 503])

  proxy.state.serverPort = serverPort
  const recovered = await listNotes(service)
  t.equal(recovered.json<unknown[]>().length, 1, 'it recovers by itself')
  t.equal(await probe(), 200)

  const events = lines.map(({ msg }) => String(msg))
  const isOfReads = (msg: string) => /ready$|unavailable for reads/.test(msg)
  t.same(events.filter(isOfReads), [
    'the database is unavailable for reads',
    'not ready',
    'ready'
  ])
})

t.test('a connection is kept when its statement fails', async (t) => {
  const database = openDatabase(t, await createDatabase(t), 60_000)
  const session = () =>
    database.run('reads', { text: 'SELECT pg_backend_pid()' })
  const first = await session()

  for (const condition of ['lock_not_available', 'check_violation'])
    await t.rejects(
      database.run('reads', { text: `DO 'BEGIN RAISE ${condition}; END'` })
    )
  t.same(await session(), first)
})

const losses = {
  'the connection is lost': undefined,
  // What PgBouncer sends if it gets no response from the server.
  'a pooler reports an error': errorResponse(
    'ERROR',
    '08P01',
    'server conn crashed?'
  )
}

for (const [loss, instead] of Object.entries(losses)) {
  t.test(`if ${loss}, the outcome of its creates is unknown`, async (t) => {
    const { proxy, service, databaseUrl } = await start(t)
    const lose = () => instead ?? proxy.cut()
    proxy.state.change = (chunk) => (chunk.includes('name 2') ? lose() : chunk)

    const names = ['name 0', 'name 1', 'name 2', 'name 3', 'name 4']
    const responses = names.map((name) => createNote(service, name))
    for (const lost of await Promise.all(responses)) {
      t.match(lost, { statusCode: 503, headers: { 'x-should-retry': 'false' } })
      t.notOk('retry-after' in lost.headers)
      t.same(lost.json(), unknown)
    }

    t.equal(await codeOrStatus(createNote(service, 'last')), 201)
    t.same(await storedNames(databaseUrl), ['first', ...names, 'last'])
  })
}

t.test('a check that is lost is unavailable: it is sent again', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const database = openDatabase(t, proxy.url)
  const statement = { text: "SELECT 'lost' AS result" }
  proxy.cutAt('lost')

  await t.rejects(database.run('writes', statement), {
    code: 'outcome_unknown'
  })
  await t.rejects(database.run('internal', statement), {
    code: 'unavailable'
  })
})

/** What a create gets after an error, and whether that is an outage. */
const errors = [
  { sqlstate: '22001', code: 'internal_error', isOutage: false },
  { sqlstate: 'P0001', code: 'internal_error', isOutage: false },
  { sqlstate: '42601', code: 'internal_error', isOutage: false },
  { sqlstate: '40001', code: 'unavailable', isOutage: false },
  { sqlstate: '25006', code: 'unavailable', isOutage: true },
  { sqlstate: '42501', code: 'unavailable', isOutage: true },
  { sqlstate: '53100', code: 'unavailable', isOutage: true },
  // These may follow a commit, or come from a pooler.
  ...['08006', '25P04', '40003', '53200', '57P01', '58030', 'XX000'].map(
    (sqlstate) => ({
      sqlstate,
      code: 'outcome_unknown',
      isOutage: true
    })
  )
]

t.test('a create that fails says whether it had an effect', async (t) => {
  const now = performance.now.bind(performance)
  let passed = 0
  t.intercept(performance, 'now', { value: () => now() + passed })
  const { lines, log } = recorder()
  const service = await startNotes(t, { log })
  await query(
    service.databaseUrl,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN RAISE USING ERRCODE = NEW.name; END';
     CREATE TRIGGER fail BEFORE INSERT ON notes
       FOR EACH ROW WHEN (NEW.name <> 'x') EXECUTE FUNCTION fail()`
  )
  for (const { sqlstate, code, isOutage } of errors) {
    lines.length = 0
    t.equal(await codeOrStatus(createNote(service, sqlstate)), code, sqlstate)
    t.equal(outagesIn(lines).length, isOutage ? 1 : 0, sqlstate)
    t.equal(await codeOrStatus(createNote(service)), 201)
    // The outage is forgotten.
    passed += 61_000
  }
})

t.test('an error of the WAL may follow a commit', async (t) => {
  const database = openDatabase(t, await createDatabase(t))
  // PostgreSQL checks the name in xlogfuncs.c.
  const text = "SELECT pg_create_restore_point(repeat('x', 64))"
  await t.rejects(database.run('writes', { text }), { code: 'outcome_unknown' })
  await t.rejects(database.run('reads', { text }), { code: 'unavailable' })
})

t.test('a statement that takes too long is cancelled', async (t) => {
  const { proxy, service, databaseUrl } = await start(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  const lock = await lockTable(t, databaseUrl, 'notes')
  t.same((await createNote(service)).json(), unavailable)
  t.same((await listNotes(service)).json(), unavailable)
  t.equal(await lockWaits(databaseUrl), 0)

  proxy.state.resets = (chunk) => chunk.includes(cancelRequest)
  t.same((await createNote(service)).json(), unknown)
  const isEnded = async () => (await lockWaits(databaseUrl)) === 0
  await until(isEnded, 'the server ends what could not be cancelled')

  await lock.release()
  t.equal((await listNotes(service)).statusCode, 200)
})

for (const isRefused of [false, true]) {
  t.test(
    `a write to a silent server is outcome_unknown; refused: ${isRefused}`,
    async (t) => {
      const proxy = await startProxy(t, await createDatabase(t))
      const database = openDatabase(t, proxy.url, 1000)
      const statement = { text: 'SELECT pg_sleep(0.1)' }
      const read = () => database.run('reads', statement)
      const write = () => database.run('writes', statement)
      await Promise.all([read(), write()])

      if (isRefused) proxy.refuse()
      const { change } = proxy.state
      proxy.state.change = () => undefined
      await Promise.all([
        t.rejects(read(), { code: 'unavailable' }),
        t.rejects(write(), { code: 'outcome_unknown' })
      ])

      proxy.state.change = change
      if (isRefused) await t.rejects(read(), { code: 'unavailable' })
      else await t.resolves(read())
    }
  )
}

t.test('a new connection without a response is unavailable', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  // The response to the check of the server.
  proxy.state.change = (chunk) =>
    chunk.includes('SELECT 0') ? undefined : chunk
  const read = openDatabase(t, proxy.url, 1000).run('reads', { text: 'SELECT' })
  await t.rejects(read, { cause: { message: 'Query read timeout' } })
})

t.test('an outdated prepared statement is replaced', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  const ids = database.prepare('ids', 'SELECT id FROM notes')
  await database.run('reads', ids)

  await query(url, 'ALTER TABLE notes ALTER id TYPE integer')
  await t.rejects(database.run('reads', ids), { code: 'unavailable' })
  t.same(await database.run('reads', ids), [])
})

t.test('a statement that gets no connection in time is overload', async (t) => {
  const database = openDatabase(t, await createDatabase(t), 500)
  const run = () => database.run('reads', { text: 'SELECT pg_sleep(60)' })
  const shared = Array.from({ length: 9 }, () =>
    t.rejects(run(), { code: 'unavailable' })
  )
  await Promise.all([...shared, t.rejects(run(), { code: 'overloaded' })])
})

t.test('the log explains missing migrations and grants', async (t) => {
  const { lines, log } = recorder()
  const { owner, service: databaseUrl } = await createRoles(t)
  const service = await startNotes(t, { databaseUrl, log })
  const role = new URL(databaseUrl).username
  /** What is missing, and the repair. */
  const faults = {
    'ALTER TABLE notes RENAME TO x': 'ALTER TABLE x RENAME TO notes',
    [`REVOKE ALL ON notes FROM ${role}`]: `GRANT SELECT, INSERT ON notes TO ${role}`
  }

  for (const [fault, repair] of Object.entries(faults)) {
    await query(owner, fault)
    t.equal(await codeOrStatus(listNotes(service)), 'unavailable')
    t.equal(await codeOrStatus(createNote(service)), 'unavailable')

    await query(owner, repair)
    t.equal(await codeOrStatus(listNotes(service)), 200)
    t.equal(await codeOrStatus(createNote(service)), 201)
  }

  const cause = 'migrations or grants may be missing'
  t.same(outagesIn(lines), [
    `the database is unavailable for reads: ${cause}`,
    `the database is unavailable for writes: ${cause}`
  ])
  t.notOk(lines.some(({ msg }) => msg === 'internal_error'))
})
