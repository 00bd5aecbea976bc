import t from 'tap'
import { randomApiKey } from '../src/api-keys/api-key.ts'
import {
  createDatabase,
  openDatabase,
  query,
  storedNames
} from './support/database.ts'
import { makeCheckReady } from '../src/postgres/readiness.ts'
import { startDatabaseProxy, unreachableUrl } from './support/proxy.ts'
import {
  bearer,
  createCategory,
  listCategories,
  statusOrCode
} from './support/requests.ts'
import { startService } from './support/service.ts'

const databaseUrl = await createDatabase(t)
const proxy = await startDatabaseProxy(t, databaseUrl)
const { upstreamUrl, transformResponse } = proxy.state
const service = await startService(t, {
  databaseUrl: proxy.url,
  config: { DATABASE_TIMEOUT_MS: 1000 }
})
const run = (sql: string) => query(databaseUrl, sql)

t.test('a database that cannot be reached is a 503', async (t) => {
  const probe = () => statusOrCode(service.app.inject('/readyz'))
  t.equal(await statusOrCode(listCategories(service)), 200)
  proxy.state.upstreamUrl = unreachableUrl
  proxy.cut()

  for (const request of [
    listCategories(service),
    createCategory(service),
    listCategories(service, bearer(randomApiKey()))
  ])
    t.equal(await statusOrCode(request), 'unavailable')
  t.equal(await probe(), 'unavailable')

  proxy.state.upstreamUrl = upstreamUrl
  t.equal(
    await statusOrCode(listCategories(service)),
    200,
    'it recovers by itself'
  )
  t.equal(await probe(), 200)
})

t.test(
  'a silent server is unavailable to reads, unknown to writes',
  async (t) => {
    t.equal(await statusOrCode(createCategory(service)), 201)
    proxy.state.transformResponse = () => undefined
    t.equal(await statusOrCode(createCategory(service)), 'outcome_unknown')
    t.equal(await statusOrCode(listCategories(service)), 'unavailable')
    proxy.state.transformResponse = transformResponse
    t.equal(await statusOrCode(listCategories(service)), 200)
  }
)

t.test('PostgreSQL ends a statement that takes too long', async (t) => {
  const slow = 'CHECK (pg_sleep(60) IS NOT NULL) NOT VALID'
  await run(`ALTER TABLE categories ADD CONSTRAINT slow ${slow}`)
  // If only the service gave it up, its outcome would be unknown.
  t.equal(await statusOrCode(createCategory(service)), 'unavailable')
  await run('ALTER TABLE categories DROP CONSTRAINT slow')
})

/**
 * What a create gets after an error of PostgreSQL, by its SQLSTATE, and whether
 * its connection is kept.
 */
const errors = [
  ['40001 40P01 53100 53400 55P03 57014', 'unavailable', true],
  // The values break a rule.
  ['22001 23514 P0001', 'internal_error', true],
  // The connection or its prepared statements are out of date.
  ['0A000 25006 26000 42501 42P01 42P05', 'unavailable', false],
  // These may follow a commit, or come from a pooler.
  [
    '08006 25P04 28000 3D000 40003 53200 57P01 58030 XX000',
    'outcome_unknown',
    false
  ],
  ['42601', 'internal_error', false]
] as const

t.test('a create that fails says whether it had an effect', async (t) => {
  const patient = await startService(t, { databaseUrl })
  // The name of each category is the process of PostgreSQL that stored it.
  await run(
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS '
       BEGIN
         IF NEW.name <> ''x'' THEN RAISE USING ERRCODE = NEW.name; END IF;
         NEW.name := pg_backend_pid();
         RETURN NEW;
       END';
     CREATE TRIGGER fail BEFORE INSERT ON categories
       FOR EACH ROW EXECUTE FUNCTION fail()`
  )
  const storingBackendPid = async () => {
    t.equal(await statusOrCode(createCategory(patient)), 201)
    return (await storedNames(databaseUrl)).at(-1)
  }
  for (const [sqlstates, code, isKept] of errors)
    for (const sqlstate of sqlstates.split(' ')) {
      const before = await storingBackendPid()
      t.equal(
        await statusOrCode(createCategory(patient, sqlstate)),
        code,
        sqlstate
      )
      t.equal(
        (await storingBackendPid()) === before,
        isKept,
        `${sqlstate} keeps it`
      )
    }
})

t.test('a change of a table outdates a prepared statement once', async (t) => {
  const lookUp = () =>
    statusOrCode(listCategories(service, bearer(randomApiKey())))
  t.equal(await lookUp(), 'unauthorized')
  await run('ALTER TABLE api_keys ALTER COLUMN name TYPE varchar')
  t.equal(await lookUp(), 'unavailable')
  t.equal(await lookUp(), 'unauthorized')
})

t.test('a read-only server is rejected', async (t) => {
  const url = new URL(await createDatabase(t))
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  await t.rejects(makeCheckReady(openDatabase(t, url.href))(), {
    message: /the server is read-only/
  })
})
