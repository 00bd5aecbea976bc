import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPool } from '../../src/postgres/connection.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { makeKey } from '../../src/api-keys/key.ts'
import { createDatabase, lockTable, query, silent } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { errorResponse, startProxy } from '../support/proxy.ts'
import { type Service, startService } from '../support/service.ts'

const create = ({ app, auth }: Service, name = 'x') =>
  app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })
const list = ({ app, auth }: Service) => app.inject({ url: '/v1/categories', headers: auth })

const unavailable = {
  code: 'unavailable',
  message: 'The service is unavailable; the request had no effect: retry',
  status: 503
}
const unknown = {
  code: 'outcome_unknown',
  message: 'The database did not confirm the write, which may have taken effect: check before you send it again',
  status: 503
}

t.test('a database that cannot be reached is a 503 with Retry-After, and the service recovers by itself', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: proxy.url })
  t.equal((await create(service)).statusCode, 201)
  proxy.state.isClosed = true
  proxy.cut()
  await new Promise(setImmediate)
  const unknownKey = { ...service, auth: { authorization: `Bearer ${makeKey()}` } }
  for (const response of [await list(service), await create(service), await list(unknownKey)]) {
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
    t.equal(response.headers['retry-after'], '1')
  }
  proxy.state.isClosed = false
  t.equal((await list(service)).json<unknown[]>().length, 1)
  proxy.state.cutOnAnswer = 'SELECT 1'
  t.same((await list(service)).json(), unavailable, 'its connection is lost in the read')
})

t.test('a connection that is ready when its request has stopped waiting serves the next one', async (t) => {
  const timeout = 1000
  const proxy = await startProxy(t, await createDatabase(t))
  const pool = createPool({ connectionString: proxy.url, connectionTimeoutMillis: timeout, max: 1 })
  const first = await pool.connect()
  const waiting = pool.connect()
  const stopped = waiting.then(
    () => {},
    () => {}
  )
  proxy.state.change = (chunk) => (chunk.includes('SHOW') ? stopped.then(() => chunk) : chunk)
  // The request stops waiting before the check of its connection times out.
  await sleep(timeout / 2)
  first.release(true)
  await t.rejects(waiting)
  const next = await pool.connect()
  next.release()
  await pool.end()
})

t.test(
  'a connection that is lost at the commit of several creates leaves the outcome of each unknown, without Retry-After',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const proxy = await startProxy(t, databaseUrl)
    const service = await startService(t, { databaseUrl: proxy.url })
    await create(service, 'first')
    proxy.state.cutOnAnswer = 'name 2'
    const names = Array.from({ length: 5 }, (_, index) => `name ${index}`)
    for (const response of await Promise.all(names.map((name) => create(service, name)))) {
      t.equal(response.statusCode, 503)
      t.same(response.json(), unknown)
      t.match(response.headers, { 'x-should-retry': 'false', 'retry-after': undefined })
    }
    t.same(
      await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'),
      ['first', ...names].map((name) => ({ name }))
    )
  }
)

t.test('a read that fails for a lasting reason, such as corrupt data, is a 500', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: proxy.url })
  await create(service, 'corrupt')
  const corrupt = errorResponse(['SERROR', 'CXX001', 'Minvalid page'])
  proxy.state.change = (chunk) => (chunk.includes('corrupt') ? corrupt : chunk)
  t.match((await list(service)).json(), { code: 'internal_error', status: 500 })
})

t.test('the outcome of a create is unknown when a pooler reports that it lost the server', async (t) => {
  const databaseUrl = await createDatabase(t)
  for (const severity of ['ERROR', 'FATAL']) {
    const proxy = await startProxy(t, databaseUrl)
    const service = await startService(t, { databaseUrl: proxy.url })
    await create(service, 'first')
    // What PgBouncer sends instead of the response that it did not get.
    const lost = errorResponse([`S${severity}`, 'C08P01', 'Mserver conn crashed?'])
    proxy.state.change = (chunk) => (chunk.includes(severity) ? lost : chunk)
    t.same((await create(service, severity)).json(), unknown)
    proxy.state.change = (chunk) => chunk
    t.equal((await create(service)).statusCode, 201)
    t.equal((await query(databaseUrl, 'SELECT FROM categories WHERE name = $1', [severity])).length, 1)
  }
})

for (const [condition, isOutage] of [
  ['serialization_failure', false],
  ['disk_full', true]
] as const) {
  const title = `a create that fails with ${condition} is a 503 unavailable, and`
  t.test(`${title} ${isOutage ? 'an outage' : 'fails alone without an outage'}`, async (t) => {
    const { lines, logger } = recorder()
    const service = await startService(t, { logger })
    await query(
      service.databaseUrl,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
         $$BEGIN RAISE EXCEPTION '' USING ERRCODE = '${condition}'; END$$;
       CREATE TRIGGER fail BEFORE INSERT ON categories FOR EACH ROW WHEN (NEW.name = 'bad') EXECUTE FUNCTION fail()`
    )
    const responses = await Promise.all(['first', 'good', 'bad', 'better'].map((name) => create(service, name)))
    const rejected = responses.filter(({ statusCode }) => statusCode !== 201)
    t.equal(rejected.length > 1, isOutage)
    for (const response of rejected) t.same(response.json(), unavailable)
    const isLogged = lines.some(({ msg }) => msg === 'the database is unavailable for writes')
    t.equal(isLogged, isOutage)
    t.equal((await create(service)).statusCode, 201)
  })
}

t.test('a statement that takes too long is cancelled at the server and is a 503 unavailable', async (t) => {
  const databaseUrl = await createDatabase(t)
  const proxy = await startProxy(t, databaseUrl)
  const service = await startService(t, { databaseUrl: proxy.url, config: { DATABASE_TIMEOUT: 1000 } })
  const lock = await lockTable(t, databaseUrl, 'categories')
  for (const request of [create, list]) {
    const response = await request(service)
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
  }
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  t.same(await query(databaseUrl, waiting), [])
  await lock.release()
  t.equal((await list(service)).body, '[]')
  t.notOk(Buffer.concat(proxy.sent).includes('timeout'), 'without a startup parameter that poolers reject')
})

for (const refuses of [false, true]) {
  const title = `when a server goes silent${refuses ? ' and refuses connections' : ''}`
  t.test(`${title}, a read is unavailable and the outcome of a write is unknown`, async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const database = openDatabase({ url: proxy.url, poolSize: 2, timeout: 500 }, silent)
    t.teardown(() => database.close())
    const statement = { text: 'SELECT pg_sleep(0.1)' }
    await Promise.all([database.read(statement), database.write(statement)])
    if (refuses) proxy.refuse()
    proxy.state.isSilent = true
    await Promise.all([
      t.rejects(database.read(statement), { code: 'unavailable' }),
      t.rejects(database.write(statement), { code: 'outcome_unknown' })
    ])
    proxy.state.isSilent = false
    if (refuses) await t.rejects(database.read(statement), { code: 'unavailable' })
    else t.equal((await database.read(statement)).length, 1)
  })
}
