import t from 'tap'
import { openDatabase } from '../../src/postgres/database.ts'
import { makeKey } from '../../src/api-keys/key.ts'
import { createDatabase, lockAwaited, lockTable, query, silent } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { errorResponse, mapErrors, startProxy } from '../support/proxy.ts'
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
  message: 'The database did not confirm the write, which may have taken effect; look before you send it again',
  status: 503
}

t.test('a database that cannot be reached is a 503 with Retry-After, and the service recovers by itself', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: proxy.url })
  t.equal((await create(service)).statusCode, 201)
  proxy.state.isClosed = true
  proxy.cut()
  await new Promise(setImmediate)
  for (const request of [list, create]) {
    const response = await request(service)
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
    t.equal(response.headers['retry-after'], '1')
  }
  proxy.state.isClosed = false
  const response = await list(service)
  t.equal(response.statusCode, 200)
  t.equal(response.json<unknown[]>().length, 1)
})

t.test(
  'a connection that is lost at the commit is a 503 outcome_unknown without Retry-After, and nothing is sent twice',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const proxy = await startProxy(t, databaseUrl)
    const service = await startService(t, { databaseUrl: proxy.url })
    await create(service, 'first')
    proxy.state.cutOnAnswer = 'second'
    const response = await create(service, 'second')
    t.equal(response.statusCode, 503)
    t.same(response.json(), unknown)
    t.equal(response.headers['retry-after'], undefined)
    t.same(await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'), [{ name: 'first' }, { name: 'second' }])
  }
)

t.test('a connection that is lost at the commit of several creates leaves the outcome of each unknown', async (t) => {
  const databaseUrl = await createDatabase(t)
  const proxy = await startProxy(t, databaseUrl)
  const service = await startService(t, { databaseUrl: proxy.url })
  await create(service, 'first')
  proxy.state.cutOnAnswer = 'name 2'
  const names = Array.from({ length: 5 }, (_, index) => `name ${index}`)
  for (const response of await Promise.all(names.map((name) => create(service, name)))) {
    t.equal(response.statusCode, 503)
    t.same(response.json(), unknown)
    t.equal(response.headers['retry-after'], undefined)
  }
  t.same(
    await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'),
    ['first', ...names].map((name) => ({ name }))
  )
})

t.test('a connection that is lost in a read is a 503 unavailable', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: proxy.url })
  await create(service)
  proxy.state.cutOnAnswer = 'SELECT 1'
  const response = await list(service)
  t.equal(response.statusCode, 503)
  t.same(response.json(), unavailable)
})

t.test('a key that cannot be looked up is a 503 and not a 401', async (t) => {
  const proxy = await startProxy(t, await createDatabase(t))
  const { app } = await startService(t, { databaseUrl: proxy.url })
  proxy.state.isClosed = true
  proxy.cut()
  const headers = { authorization: `Bearer ${makeKey()}` }
  const response = await app.inject({ url: '/v1/categories', headers })
  t.equal(response.statusCode, 503)
  t.same(response.json(), unavailable)
})

t.test('the outcome of a create whose connection Postgres ends is unknown: a pooler could say the same', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl })
  await create(service, 'first')
  await lockTable(t, databaseUrl, 'categories')
  const response = create(service, 'second')
  await lockAwaited(databaseUrl, { terminate: true })
  t.equal((await response).statusCode, 503)
  t.same((await response).json(), unknown)
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

t.test('a create that a server in another language rejects fails alone, and keeps its connection', async (t) => {
  const databaseUrl = await createDatabase(t)
  const proxy = await startProxy(t, databaseUrl)
  const service = await startService(t, { databaseUrl: proxy.url })
  await query(databaseUrl, `ALTER TABLE categories ADD CHECK (name <> 'bad')`)
  proxy.state.change = (chunk) =>
    mapErrors(chunk, (fields) => fields.map((field) => (field.startsWith('S') ? 'SFEHLER' : field)))
  const pids = async () => {
    const connections =
      "FROM pg_stat_activity WHERE application_name = 'pet-categories' AND datname = current_database()"
    return (await query(databaseUrl, `SELECT pid ${connections}`)).map(({ pid }) => pid)
  }
  t.equal((await create(service, 'first')).statusCode, 201)
  const before = await pids()
  const responses = await Promise.all(['good', 'bad', 'better'].map((name) => create(service, name)))
  t.same(
    responses.map(({ statusCode }) => statusCode),
    [201, 500, 201]
  )
  const after = new Set(await pids())
  t.same(
    before.filter((pid) => !after.has(pid)),
    []
  )
})

t.test('a row that a trigger rejects as a conflict fails alone, and is no outage', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, { logger })
  await query(
    service.databaseUrl,
    `CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END$$;
     CREATE TRIGGER conflict BEFORE INSERT ON categories FOR EACH ROW WHEN (NEW.name = 'bad') EXECUTE FUNCTION conflict()`
  )
  const responses = await Promise.all(['first', 'good', 'bad', 'better'].map((name) => create(service, name)))
  t.same(
    responses.map(({ statusCode }) => statusCode),
    [201, 201, 503, 201]
  )
  t.same(responses[2]?.json(), unavailable)
  t.notOk(lines.some(({ msg }) => String(msg).includes('database')))
})

t.test(
  'a statement that takes too long is cancelled: a 503 unavailable, and the server works no longer on it',
  async (t) => {
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
  }
)

for (const refuses of [false, true]) {
  const title = `a server that goes silent${refuses ? ' and refuses the request to cancel' : ''}`
  t.test(`${title}: a read can be sent again, the outcome of a write is unknown`, async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const database = openDatabase({ url: proxy.url, poolSize: 2, timeout: 500 }, silent)
    t.teardown(() => database.close())
    const statement = { text: 'SELECT pg_sleep(0.1)' }
    await Promise.all([database.read(statement), database.write(statement)])
    if (refuses) proxy.refuse()
    proxy.state.isSilent = true
    await Promise.all([
      t.rejects(database.read(statement), { message: 'the database is unavailable' }),
      t.rejects(database.write(statement), { message: 'the outcome of a write is unknown' })
    ])
    proxy.state.isSilent = false
    if (refuses) await t.rejects(database.read(statement), { message: 'the database is unavailable' })
    else t.equal((await database.read(statement)).length, 1)
  })
}
