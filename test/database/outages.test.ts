import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../src/database/database.ts'
import { createKey } from '../../src/keys/issue.ts'
import { keyStore } from '../../src/keys/store.ts'
import { keyVerifier } from '../../src/keys/verifier.ts'
import { registry } from '../../src/metrics.ts'
import { createDatabase, createRoles, lockAwaited, lockTable, query } from '../support/database.ts'
import { startLoad } from '../support/load.ts'
import { recorder } from '../support/log.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const create = async ({ app, auth }: Service, name = 'x') => {
  const response = await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })
  return response.json<{ code?: string }>().code ?? response.statusCode
}

t.test('Postgres is killed again and again under creates: none is lost, none doubled, none hangs', async (t) => {
  const postgres = await startPostgres(t)
  const service = await startService(t, { databaseUrl: postgres.url, config: { RATE_LIMIT_MAX: 0 } })
  const load = startLoad(service.url, service.key)
  for (let round = 0; round < 5; round++) {
    await load.acknowledges(100)
    await postgres.kill()
    await postgres.start()
  }
  await load.acknowledges(100)
  await load.stop()

  t.same(load.lost, [])
  t.same(
    Object.keys(load.answers).filter((kind) => !['201', '503 unavailable', '503 outcome_unknown'].includes(kind)),
    []
  )
  const stored = (await query(postgres.url, 'SELECT name FROM categories')).map(({ name }) => String(name))
  const names = new Set(stored)
  t.equal(names.size, stored.length, 'each is stored once')
  t.same(
    load.acknowledged.filter((name) => !names.has(name)),
    [],
    'what was acknowledged is stored'
  )
  const known = new Set([...load.acknowledged, ...load.unknown])
  t.same(
    stored.filter((name) => !known.has(name)),
    [],
    'what was answered with unavailable is not'
  )
})

const send = async ({ app, auth }: Service) =>
  (await app.inject({ method: 'POST', url: '/v1/messages', headers: auth, payload: { message: 'x' } })).statusCode
const list = async ({ app, auth }: Service) => (await app.inject({ url: '/v1/categories', headers: auth })).statusCode

/** What the log says of outages, without background work, whose attempts no request waits for. */
const outagesIn = (lines: Record<string, unknown>[]) =>
  lines
    .map(({ msg }) => String(msg))
    .filter((msg) => /unavailable|again|ready/.test(msg) && !msg.includes('background'))

t.test('the log has the begin and the end of an outage once, however many requests and probes meet it', async (t) => {
  const { lines, logger } = recorder()
  const postgres = await startPostgres(t)
  const service = await startService(t, { databaseUrl: postgres.url, logger })
  await create(service)
  lines.length = 0
  await postgres.kill()
  const probe = async () => (await service.app.inject('/readyz')).statusCode
  t.match(
    await create(service),
    /^(unavailable|outcome_unknown)$/,
    'it may have been sent on a connection that seemed to be open'
  )
  t.same([await create(service), await probe(), await probe(), await list(service)], ['unavailable', 503, 503, 503])
  await postgres.start()
  t.same([await create(service), await probe(), await probe(), await list(service)], [201, 200, 200, 200])
  await until(
    async () => (await list(service), outagesIn(lines).join().includes('again for reads')),
    'the end is logged'
  )
  const reported = outagesIn(lines)
  t.equal(new Set(reported).size, reported.length)
  // Whether a create gets as far as its write depends on how long ago its key was looked up.
  t.same(reported.filter((msg) => !msg.includes('writes')).sort(), [
    'not ready',
    'ready',
    'the database is available again for reads',
    'the database is unavailable for reads'
  ])
})

/** What a failover to a server that is still a standby gives to new connections. */
const readOnly = ({ databaseUrl }: Service, value: boolean) =>
  query(
    databaseUrl,
    `SET TRANSACTION READ WRITE;
     ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET default_transaction_read_only = ${value}`
  )

async function disconnect({ databaseUrl }: Service): Promise<void> {
  await query(
    databaseUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'pet-categories' AND datname = current_database()`
  )
  const connections = () => registry.getSingleMetricAsString('database_connections')
  await until(async () => /idle"} 0\n.*active"} 0/.test(await connections()), 'the pool has noticed')
}

t.test('while writes fail and reads succeed, the log has one line for it', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, { logger })
  await readOnly(service, true)
  await disconnect(service)
  for (let round = 0; round < 3; round++) {
    t.equal(await list(service), 200)
    t.equal(await create(service), 'unavailable')
  }
  t.same(outagesIn(lines), ['the database is unavailable for writes'])
})

t.test('while one table is locked and others are not, the log has the begin and the end of one outage', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, { logger, config: { DATABASE_TIMEOUT: 300 } })
  const lock = await lockTable(t, service.databaseUrl, 'categories')
  for (let round = 0; round < 3; round++) {
    t.equal(await create(service), 'unavailable')
    t.equal(await send(service), 202)
  }
  t.same(outagesIn(lines), ['the database is unavailable for writes'])
  await lock.release()
  await until(async () => (await create(service)) === 201 && outagesIn(lines).length > 1, 'the end is logged')
  t.same(outagesIn(lines).slice(1), ['the database is available again for writes'])
})

t.test('a server that was read-only, and a prepared statement that is outdated, cost one request', async (t) => {
  const service = await startService(t, { config: { DATABASE_POOL_SIZE: 1 } })
  await readOnly(service, true)
  await disconnect(service)
  // On a new connection, which is not used again.
  t.equal(await list(service), 200)
  t.equal(await create(service), 'unavailable')
  await readOnly(service, false)
  t.same([await list(service), await create(service)], [200, 201])
  await query(service.databaseUrl, 'ALTER TABLE categories ALTER name TYPE varchar(500)')
  t.same([await list(service), await list(service), await create(service)], [503, 200, 201])
})

t.test('a pending migration or grant is a 503 unavailable, which the log has once and explains', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, { logger })
  const hint = ': migrations or grants may be missing'
  for (const [before, after] of [
    ['ALTER TABLE categories RENAME TO later', 'ALTER TABLE later RENAME TO categories'],
    ['ALTER TABLE categories RENAME description TO later', 'ALTER TABLE categories RENAME later TO description']
  ] as const) {
    lines.length = 0
    await query(service.databaseUrl, before)
    for (let round = 0; round < 3; round++) {
      t.equal(await list(service), 503)
      t.equal(await create(service), 'unavailable')
    }
    t.same(outagesIn(lines), [
      `the database is unavailable for page-of-categories${hint}`,
      `the database is unavailable for create-categories${hint}`
    ])
    t.notOk(lines.some(({ msg }) => msg === 'internal_error'))
    await query(service.databaseUrl, after)
    await until(async () => {
      t.same([await list(service), await create(service)], [200, 201])
      return outagesIn(lines).length === 4
    }, 'the end of both is logged')
    t.same(outagesIn(lines).slice(2).sort(), [
      'the database is available again for create-categories',
      'the database is available again for page-of-categories'
    ])
  }
})

t.test('a missing grant is a 503 unavailable', async (t) => {
  const { owner, service: databaseUrl } = await createRoles(t)
  const service = await startService(t, { databaseUrl: owner })
  const restricted = await startService(t, { databaseUrl })
  await query(owner, `REVOKE ALL ON categories FROM ${new URL(databaseUrl).username}`)
  t.same([await list({ ...restricted, auth: service.auth })], [503])
  t.equal(await create({ ...restricted, auth: service.auth }), 'unavailable')
})

t.test('a service that stops while it looks up keys logs no outage', async (t) => {
  const { lines, logger } = recorder()
  const databaseUrl = await createDatabase(t)
  const database = openDatabase({ url: databaseUrl, poolSize: 2, timeout: 60_000 }, logger)
  const keys = keyVerifier(keyStore(database))
  const key = await createKey(keyStore(database), { name: 'test', command: 'test' })
  t.equal((await keys.check(key)).state, 'valid')
  const lock = await lockTable(t, databaseUrl, 'api_keys')
  const refreshed = t.rejects(keys.refresh(), { message: 'the database is unavailable' })
  await lockAwaited(databaseUrl)
  const closing = database.close()
  await lock.release()
  await refreshed
  await closing
  t.same(outagesIn(lines), [])
})

t.test('a disk that is full is a 503 unavailable, and creates work again when there is room', async (t) => {
  const service = await startService(t)
  // What Postgres says when it cannot extend a file.
  await query(
    service.databaseUrl,
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$;
     CREATE TRIGGER full_disk BEFORE INSERT ON categories EXECUTE FUNCTION full_disk()`
  )
  t.equal(await create(service), 'unavailable')
  await query(service.databaseUrl, 'DROP TRIGGER full_disk ON categories')
  t.equal(await create(service), 201)
})

t.test('a Postgres without a free connection is a 503 unavailable, and is used again when it has one', async (t) => {
  const settings = { max_connections: '4', superuser_reserved_connections: '0', max_wal_senders: '0' }
  const postgres = await startPostgres(t, settings)
  const service = await startService(t, { databaseUrl: postgres.url })
  // Ends those of the service, and takes the place of each before the service can.
  const others: pg.Client[] = []
  t.teardown(() => Promise.all(others.map((client) => client.end())))
  while (others.length < 4) {
    const client = new pg.Client({ connectionString: postgres.url })
    client.on('error', () => {})
    const isIn = await client.connect().then(
      () => true,
      () => false
    )
    if (isIn) others.push(client)
    await others[0]?.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pet-categories'`
    )
  }
  t.equal(await create(service), 'unavailable')
  await others.pop()?.end()
  await others.pop()?.end()
  t.equal(await create(service), 201)
})

t.test('a Postgres that does not answer to a new connection is a 503 unavailable', async (t) => {
  const postgres = await startPostgres(t)
  const service = await startService(t, { databaseUrl: postgres.url, config: { DATABASE_TIMEOUT: 1000 } })
  t.equal(await create(service), 201)
  await postgres.pause()
  t.match(await create(service), /^(outcome_unknown|unavailable)$/, 'on a connection that there is')
  t.equal(await create(service), 'unavailable', 'on a new one')
  postgres.resume()
  t.equal(await create(service), 201)
})
