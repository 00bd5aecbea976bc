import t from 'tap'
import { PrimaryPool } from '../../src/postgres/primary-pool.ts'
import { makeKey } from '../../src/api-keys/key.ts'
import { stopClock } from '../support/clock.ts'
import {
  createDatabase,
  lockTable,
  lockWaits,
  open,
  query,
  storedNames
} from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { errorResponse, startProxy } from '../support/proxy.ts'
import { create, list, result } from '../support/requests.ts'
import { startService } from '../support/service.ts'

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

t.test(
  'a database that cannot be reached is a 503 with Retry-After, and the service recovers by itself',
  async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const service = await startService(t, { databaseUrl: proxy.url })
    t.equal(await result(create(service)), 201)
    const { serverPort } = proxy.state
    proxy.state.serverPort = 1 // Nothing listens there.
    proxy.cut()
    const unknownKey = {
      ...service,
      auth: { authorization: `Bearer ${makeKey()}` }
    }
    for (const response of [
      await list(service),
      await create(service),
      await list(unknownKey)
    ]) {
      t.match(response, { statusCode: 503, headers: { 'retry-after': '1' } })
      t.same(response.json(), unavailable)
    }
    proxy.state.serverPort = serverPort
    t.equal((await list(service)).json<unknown[]>().length, 1)
    proxy.cutAt('SELECT 1')
    t.same(
      (await list(service)).json(),
      unavailable,
      'its connection is lost in the read'
    )
  }
)

t.test(
  'a connection that is ready when its request has stopped waiting serves the next one',
  async (t) => {
    const clock = stopClock(t, 'setTimeout')
    const proxy = await startProxy(t, await createDatabase(t))
    const pool = new PrimaryPool(proxy.url, 1000, { max: 1 })
    const first = await pool.connect()
    const waiting = pool.connect()
    const stopped = t.rejects(waiting)
    const checking = new Promise<void>((resolve) => {
      proxy.state.change = (chunk) => {
        if (!chunk.includes('SHOW')) return chunk
        resolve()
        return stopped.then(() => chunk)
      }
    })
    // The request stops waiting before the check of its connection times out.
    clock.pass(500)
    first.release(true)
    await checking
    clock.pass(500)
    await stopped
    const next = await pool.connect()
    next.release()
    await pool.end()
  }
)

t.test(
  'a connection on which a statement has failed serves the next one',
  async (t) => {
    const database = open(t, await createDatabase(t), 1000)
    const session = () => database.read({ text: 'SELECT pg_backend_pid()' })
    const first = await session()
    for (const condition of [
      'disk_full',
      'lock_not_available',
      'undefined_table',
      'check_violation'
    ]) {
      const text = `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${condition}'; END $$`
      await t.rejects(database.read({ text }))
    }
    t.same(await session(), first)
  }
)

t.test(
  'a read that fails for a lasting reason, such as corrupt data, is a 500',
  async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const service = await startService(t, { databaseUrl: proxy.url })
    await create(service, 'corrupt')
    const corrupt = errorResponse(['SERROR', 'CXX001', 'Minvalid page'])
    proxy.state.change = (chunk) =>
      chunk.includes('corrupt') ? corrupt : chunk
    t.equal(await result(list(service)), 'internal_error')
  }
)

// What PgBouncer sends instead of the response that it did not get from the server.
const lost = (severity: string) =>
  errorResponse([`S${severity}`, 'C08P01', 'Mserver conn crashed?'])

const losses = [
  { loss: 'the connection is lost', instead: undefined },
  {
    loss: 'a pooler reports an ERROR instead of the response',
    instead: lost('ERROR')
  },
  {
    loss: 'a pooler reports a FATAL error instead of the response',
    instead: lost('FATAL')
  }
]

for (const { loss, instead } of losses) {
  t.test(
    `if ${loss}, the outcome of each create of a commit is unknown, without Retry-After`,
    async (t) => {
      const databaseUrl = await createDatabase(t)
      const proxy = await startProxy(t, databaseUrl)
      const service = await startService(t, { databaseUrl: proxy.url })
      await create(service, 'first')
      const names = Array.from({ length: 5 }, (_, index) => `name ${index}`)
      proxy.state.change = (chunk) =>
        chunk.includes('name 2') ? (instead ?? proxy.cut()) : chunk
      for (const response of await Promise.all(
        names.map((name) => create(service, name))
      )) {
        t.match(response, {
          statusCode: 503,
          headers: { 'x-should-retry': 'false', 'retry-after': undefined }
        })
        t.same(response.json(), unknown)
      }
      t.equal(await result(create(service, 'last')), 201)
      t.same(await storedNames(databaseUrl), ['first', ...names, 'last'])
    }
  )
}

const failuresOfCreates = [
  {
    condition: 'serialization_failure',
    consequence: 'fails alone without an outage',
    isOutage: false
  },
  { condition: 'disk_full', consequence: 'is an outage', isOutage: true }
]

for (const { condition, consequence, isOutage } of failuresOfCreates) {
  t.test(
    `a create that fails with ${condition} gets 503 unavailable, and ${consequence}`,
    async (t) => {
      const { lines, logger } = recorder()
      const service = await startService(t, { logger })
      await query(
        service.databaseUrl,
        `
          CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            RAISE EXCEPTION '' USING ERRCODE = '${condition}';
          END $$;

          CREATE TRIGGER fail BEFORE INSERT ON categories
          FOR EACH ROW WHEN (NEW.name = 'bad')
          EXECUTE FUNCTION fail()
        `
      )
      const responses = await Promise.all(
        ['first', 'good', 'bad', 'better'].map((name) => create(service, name))
      )
      const rejected = responses.filter(({ statusCode }) => statusCode !== 201)
      t.equal(rejected.length > 1, isOutage)
      for (const response of rejected) t.same(response.json(), unavailable)
      const logged = lines.filter(
        ({ msg }) => msg === 'the database is unavailable for writes'
      )
      t.equal(logged.length, isOutage ? 1 : 0)
      t.equal(await result(create(service)), 201)
    }
  )
}

t.test(
  'a statement that takes too long is cancelled at the server and is a 503 unavailable',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const proxy = await startProxy(t, databaseUrl)
    const service = await startService(t, {
      databaseUrl: proxy.url,
      config: { DATABASE_TIMEOUT_MS: 1000 }
    })
    const lock = await lockTable(t, databaseUrl, 'categories')
    for (const response of [await create(service), await list(service)])
      t.same(response.json(), unavailable)
    t.equal(await lockWaits(databaseUrl), 0)
    await lock.release()
    t.equal((await list(service)).body, '[]')
    t.notOk(
      Buffer.concat(proxy.sent).includes('timeout'),
      'without a startup parameter that poolers reject'
    )
  }
)

const silences = [
  { silence: 'goes silent', refuses: false },
  { silence: 'goes silent and refuses connections', refuses: true }
]

for (const { silence, refuses } of silences) {
  t.test(
    `when a server ${silence}, a read is unavailable and the outcome of a write is unknown`,
    async (t) => {
      const proxy = await startProxy(t, await createDatabase(t))
      const database = open(t, proxy.url, 1000)
      const statement = { text: 'SELECT pg_sleep(0.1)' }
      await Promise.all([database.read(statement), database.write(statement)])
      if (refuses) proxy.refuse()
      const { change } = proxy.state
      proxy.state.change = () => undefined
      await Promise.all([
        t.rejects(database.read(statement), { code: 'unavailable' }),
        t.rejects(database.write(statement), { code: 'outcome_unknown' })
      ])
      proxy.state.change = change
      if (refuses)
        await t.rejects(database.read(statement), { code: 'unavailable' })
      else t.equal((await database.read(statement)).length, 1)
    }
  )
}
