import t, { type Test } from 'tap'
import {
  createDatabase,
  lockTable,
  lockWaits,
  openDatabase,
  query
} from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import {
  createNote,
  listNotes,
  startNotes,
  storedNames,
  makeKey
} from '../../support/notes.ts'
import { errorResponse, startProxy } from '../../support/proxy.ts'
import { codeOrStatus } from '../../support/requests.ts'

const unavailable = {
  code: 'unavailable',
  message: 'The service is unavailable; the request had no effect: retry',
  status: 503
}
const unknown = {
  code: 'outcome_unknown',
  message:
    'The database did not confirm the write, which may have taken effect: ' +
    'check before you send it again',
  status: 503
}

t.test('a database that cannot be reached is a 503', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startNotes(t, { databaseUrl: proxy.url })
  t.equal(await codeOrStatus(createNote(service)), 201)

  const { serverPort } = proxy.state
  proxy.state.serverPort = 1 // Nothing listens there.
  proxy.cut()

  const unknownKey = {
    ...service,
    auth: { authorization: `Bearer ${makeKey()}` }
  }
  const responses = [
    await listNotes(service),
    await createNote(service),
    await listNotes(unknownKey)
  ]

  for (const response of responses) {
    t.match(response, { statusCode: 503, headers: { 'retry-after': '1' } })
    t.same(response.json(), unavailable)
  }

  proxy.state.serverPort = serverPort
  const recovered = await listNotes(service)
  t.equal(recovered.json<unknown[]>().length, 1, 'it recovers by itself')
})

t.test('a connection that is lost in a read is a 503', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startNotes(t, { databaseUrl: proxy.url })
  await createNote(service)
  await listNotes(service)
  proxy.cutAt('SELECT 1')
  t.same((await listNotes(service)).json(), unavailable)
})

t.test('a connection is kept when its statement fails', async (t) => {
  const database = openDatabase(t, await createDatabase(t), 60_000)
  const session = () => database.read({ text: 'SELECT pg_backend_pid()' })
  const first = await session()
  const conditions = ['disk_full', 'lock_not_available', 'check_violation']

  for (const condition of conditions) {
    const text = `
      DO $$
      BEGIN
        RAISE EXCEPTION USING ERRCODE = '${condition}';
      END
      $$
    `
    await t.rejects(database.read({ text }))
  }
  t.same(await session(), first)
})

t.test('a read of corrupt data is a 500', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startNotes(t, { databaseUrl: proxy.url })
  await createNote(service, 'corrupt')
  const error = errorResponse(['SERROR', 'CXX001', 'Minvalid page'])
  proxy.state.change = (chunk) => (chunk.includes('corrupt') ? error : chunk)
  t.equal(await codeOrStatus(listNotes(service)), 'internal_error')
})

/** What PgBouncer sends if it gets no response from the server. */
const crashed = (severity: string) =>
  errorResponse([`S${severity}`, 'C08P01', 'Mserver conn crashed?'])

const losses = [
  { loss: 'the connection is lost', instead: undefined },
  { loss: 'a pooler reports an ERROR', instead: crashed('ERROR') },
  { loss: 'a pooler reports a FATAL error', instead: crashed('FATAL') }
]

for (const { loss, instead } of losses) {
  t.test(`if ${loss}, the outcome of its creates is unknown`, async (t) => {
    const databaseUrl = await createDatabase(t)
    const proxy = await startProxy(t, databaseUrl)
    const service = await startNotes(t, { databaseUrl: proxy.url })
    await createNote(service, 'first')

    const lose = () => instead ?? proxy.cut()
    proxy.state.change = (chunk) => (chunk.includes('name 2') ? lose() : chunk)

    const names = ['name 0', 'name 1', 'name 2', 'name 3', 'name 4']
    const responses = names.map((name) => createNote(service, name))
    for (const lost of await Promise.all(responses)) {
      t.equal(lost.statusCode, 503)
      t.equal(lost.headers['x-should-retry'], 'false')
      t.notOk('retry-after' in lost.headers)
      t.same(lost.json(), unknown)
    }

    t.equal(await codeOrStatus(createNote(service, 'last')), 201)
    t.same(await storedNames(databaseUrl), ['first', ...names, 'last'])
  })
}

t.test(
  'a write in the background that is lost is unavailable: it is sent again',
  async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const database = openDatabase(t, proxy.url)
    const statement = { text: "SELECT 'lost' AS result" }
    proxy.cutAt('lost')

    await t.rejects(database.write(statement), { code: 'outcome_unknown' })
    await t.rejects(database.writeInBackground(statement), {
      code: 'unavailable'
    })
  }
)

/** Makes creates of this name fail. */
const failCreates = (url: string, name: string, condition: string) =>
  query(
    url,
    `
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION '' USING ERRCODE = '${condition}';
      END $$;

      CREATE TRIGGER fail BEFORE INSERT ON notes
      FOR EACH ROW WHEN (NEW.name = '${name}')
      EXECUTE FUNCTION fail()
    `
  )

const failuresOfCreates = [
  {
    condition: 'serialization_failure',
    consequence: 'fails alone without an outage',
    isOutage: false
  },
  {
    condition: 'disk_full',
    consequence: 'is an outage',
    isOutage: true
  }
]

for (const { condition, consequence, isOutage } of failuresOfCreates) {
  t.test(`a create with a ${condition} ${consequence}`, async (t) => {
    const { lines, log } = recorder()
    const service = await startNotes(t, { log })
    await failCreates(service.databaseUrl, 'bad', condition)
    const names = ['first', 'good', 'bad', 'better']
    const responses = await Promise.all(
      names.map((name) => createNote(service, name))
    )

    const rejected = responses.filter(({ statusCode }) => statusCode !== 201)
    t.equal(rejected.length > 1, isOutage)
    for (const response of rejected) t.same(response.json(), unavailable)

    const outages = lines.filter(
      ({ msg }) => msg === 'the database is unavailable for writes'
    )
    t.equal(outages.length, isOutage ? 1 : 0)
    t.equal(await codeOrStatus(createNote(service)), 201)
  })
}

t.test('a statement that takes too long is cancelled', async (t) => {
  const databaseUrl = await createDatabase(t)
  const proxy = await startProxy(t, databaseUrl)
  const service = await startNotes(t, {
    databaseUrl: proxy.url,
    config: { DATABASE_TIMEOUT_MS: 1000 }
  })
  const lock = await lockTable(t, databaseUrl, 'notes')
  t.same((await createNote(service)).json(), unavailable)
  t.same((await listNotes(service)).json(), unavailable)
  t.equal(await lockWaits(databaseUrl), 0)

  await lock.release()
  t.equal((await listNotes(service)).body, '[]')

  const startups = proxy.sentChunks.filter((chunk) =>
    chunk.includes('application_name')
  )
  t.not(startups.length, 0)
  t.notOk(
    Buffer.concat(startups).includes('timeout'),
    'without a startup parameter that poolers reject'
  )
})

/** Two connections through a proxy whose server goes silent. */
async function startSilence(t: Test) {
  const proxy = await startProxy(t, await createDatabase(t))
  const database = openDatabase(t, proxy.url, 1000)
  const statement = { text: 'SELECT pg_sleep(0.1)' }
  const read = () => database.read(statement)
  const write = () => database.write(statement)
  await Promise.all([read(), write()])

  /** Checks the errors of a read and a write while the server is silent. */
  async function failsInSilence() {
    const { change } = proxy.state
    proxy.state.change = () => undefined
    await Promise.all([
      t.rejects(read(), { code: 'unavailable' }),
      t.rejects(write(), { code: 'outcome_unknown' })
    ])
    proxy.state.change = change
  }

  return { proxy, read, failsInSilence }
}

t.test('the outcome of a write to a silent server is unknown', async (t) => {
  const { read, failsInSilence } = await startSilence(t)
  await failsInSilence()
  t.equal((await read()).length, 1)
})

t.test(
  'a write is unknown even if a silent server refuses connections',
  async (t) => {
    const { proxy, read, failsInSilence } = await startSilence(t)
    proxy.refuse()
    await failsInSilence()
    await t.rejects(read(), { code: 'unavailable' })
  }
)
