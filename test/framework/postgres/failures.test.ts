import t, { type Test } from 'tap'
import {
  createDatabase,
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
import { cancelRequest, startProxy } from '../../support/proxy.ts'
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
  const probe = () => codeOrStatus(service.app.inject('/readyz'))
  const { serverPort } = proxy.state
  proxy.state.serverPort = 1 // Nothing listens there.
  proxy.cut()

  for (const response of [
    await listNotes(service),
    await createNote(service),
    await listNotes(service, bearer(makeKey()))
  ]) {
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
  }
  t.same([await probe(), await probe()], ['unavailable', 'unavailable'])

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

t.test('if the connection is lost, its creates are unknown', async (t) => {
  const { proxy, service, databaseUrl } = await start(t)
  proxy.cutAt('name 2')

  const names = ['name 1', 'name 2', 'name 3']
  const responses = names.map((name) => createNote(service, name))
  for (const lost of await Promise.all(responses)) t.same(lost.json(), unknown)

  t.equal(await codeOrStatus(createNote(service, 'last')), 201)
  t.same(await storedNames(databaseUrl), ['first', ...names, 'last'])
})

/** What a create gets after an error of PostgreSQL, by its SQLSTATE. */
const errors = {
  internal_error: ['P0001', '42601'],
  unavailable: ['40001', '25006', '42501', '53100'],
  // These may follow a commit, or come from a pooler.
  outcome_unknown: [
    '08006',
    '25P04',
    '40003',
    '53200',
    '57P01',
    '58030',
    'XX000'
  ]
}

/** The database is not the cause. */
const noOutages = ['P0001', '42601', '40001']

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
  for (const [code, sqlstates] of Object.entries(errors))
    for (const sqlstate of sqlstates) {
      lines.length = 0
      t.equal(await codeOrStatus(createNote(service, sqlstate)), code, sqlstate)
      const outages = noOutages.includes(sqlstate) ? 0 : 1
      t.equal(outagesIn(lines).length, outages, sqlstate)
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
  for (const purpose of ['reads', 'internal'] as const)
    await t.rejects(database.run(purpose, { text }), { code: 'unavailable' })
})

t.test('a statement that takes too long is cancelled', async (t) => {
  const { proxy, service, databaseUrl } = await start(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  const lock = await lockTable(t, databaseUrl, 'notes')
  t.same((await createNote(service)).json(), unavailable)
  t.same((await listNotes(service)).json(), unavailable)
  t.equal(await lockWaits(databaseUrl), 0)

  proxy.state.loses = (chunk) => chunk.includes(cancelRequest)
  t.same((await createNote(service)).json(), unknown)
  const isEnded = async () => (await lockWaits(databaseUrl)) === 0
  await until(isEnded, 'the server ends what could not be cancelled')

  await lock.release()
  t.equal((await listNotes(service)).statusCode, 200)
})

t.test('a write to a silent server is outcome_unknown', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const database = openDatabase(t, proxy.url, 1000)
  const write = () => database.run('writes', { text: 'SELECT' })
  await write()

  const { change } = proxy.state
  proxy.state.change = () => undefined
  await t.rejects(write(), { code: 'outcome_unknown' })
  proxy.state.change = change
  await t.resolves(write())
})

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

t.test('the log explains missing migrations', async (t) => {
  const { lines, log } = recorder()
  const service = await startNotes(t, { log })
  await query(service.databaseUrl, 'ALTER TABLE notes RENAME TO later')
  t.equal(await codeOrStatus(listNotes(service)), 'unavailable')
  t.equal(await codeOrStatus(createNote(service)), 'unavailable')

  const cause = 'migrations or grants may be missing'
  t.same(outagesIn(lines), [
    `the database is unavailable for reads: ${cause}`,
    `the database is unavailable for writes: ${cause}`
  ])
})
