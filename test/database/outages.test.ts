import pg from 'pg'
import t from 'tap'
import { query } from '../support/database.ts'
import { startLoad } from '../support/load.ts'
import { recorder } from '../support/log.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'

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

t.test('the log tells the begin and the end of an outage, however many requests and probes met it', async (t) => {
  const { lines, logger } = recorder()
  const postgres = await startPostgres(t)
  const service = await startService(t, { databaseUrl: postgres.url, logger })
  await postgres.kill()
  lines.length = 0
  const probe = async () => (await service.app.inject('/readyz')).statusCode
  t.same(
    [await create(service), await create(service), await probe(), await probe()],
    ['unavailable', 'unavailable', 503, 503]
  )
  await postgres.start()
  t.same([await create(service), await probe(), await probe()], [201, 200, 200])
  const told = lines.map(({ msg }) => msg).filter((msg) => msg !== 'request')
  t.same(told, ['the database is unavailable', 'not ready', 'the database answers again', 'ready'])
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
