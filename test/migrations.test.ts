import { readdirSync } from 'node:fs'
import t from 'tap'
import { makeCheckReady } from '../src/postgres/readiness.ts'
import {
  createDatabase,
  emptyDatabaseOptions,
  lockTable,
  migrate,
  openDatabase,
  query
} from './support/database.ts'
import { unreachableUrl } from './support/proxy.ts'

const shipped = readdirSync('migrations')
  .filter((name) => name !== 'grants.sql')
  .sort()

const appliedIn = async (url: string) =>
  (await query(url, 'SELECT name FROM applied_migrations ORDER BY name')).map(
    ({ name }) => String(name)
  )

const tablesIn = (url: string) =>
  query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")

/** The URL of the same database for the service's role. */
const asService = (url: string): string =>
  Object.assign(new URL(url), { username: 'pet_categories_service' }).href

t.test('concurrent migrations are applied once, in order', async (t) => {
  const url = await createDatabase(t, emptyDatabaseOptions)
  await Promise.all([1, 2, 3].map(() => migrate(url)))
  t.same(await appliedIn(url), shipped)
})

t.test('a migration that fails is named, and none is applied', async (t) => {
  const url = await createDatabase(t, emptyDatabaseOptions)
  await query(url, 'CREATE TABLE pets ()')
  await t.rejects(migrate(url), {
    message: /\.sql failed: relation "pets" already exists$/
  })
  t.same(await tablesIn(url), [{ tablename: 'pets' }])
})

t.test('a database of a later version is left alone', async (t) => {
  const url = await createDatabase(t)
  const later =
    "INSERT INTO applied_migrations (name) VALUES ('9999_later.sql')"
  await query(url, later)
  await t.resolves(migrate(url), 'a roll back of the service')
  t.same(await appliedIn(url), [...shipped, '9999_later.sql'])
  await t.resolves(makeCheckReady(openDatabase(t, url))())
})

t.test('a database of an unreleased version is left alone', async (t) => {
  const url = await createDatabase(t, emptyDatabaseOptions)
  await query(url, 'CREATE TABLE api_keys ()')
  const rejection = {
    message: /^an unreleased version .* export .* start anew/
  }
  await t.rejects(migrate(url), rejection)
  await t.rejects(makeCheckReady(openDatabase(t, url))(), rejection)
  t.same(await tablesIn(url), [{ tablename: 'api_keys' }])
})

t.test('a migration that cannot run names the remedy', async (t) => {
  const locked = await createDatabase(t)
  await lockTable(t, locked, 'applied_migrations')
  const latin1 = "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
  for (const [url, message] of [
    [unreachableUrl, /: start the database, or correct DATABASE_URL$/],
    [
      await createDatabase(t, latin1),
      /LATIN1: create one with ENCODING 'UTF8'/
    ],
    [
      asService(await createDatabase(t, emptyDatabaseOptions)),
      /migrate as the owner of/
    ],
    [locked, /lock timeout: .* try again$/]
  ] as const)
    await t.rejects(migrate(url), { message })
})

t.test('grants are applied again each time', async (t) => {
  const url = await createDatabase(t)
  await query(url, 'REVOKE ALL ON pets FROM pet_categories_service')
  await migrate(url)
  await t.resolves(query(asService(url), 'TABLE pets'))
})

t.test("the service's role owns nothing, and changes no table", async (t) => {
  const url = asService(await createDatabase(t))
  const owned = 'SELECT FROM pg_class WHERE relowner = current_user::regrole'
  t.same(await query(url, owned), [])
  for (const statement of [
    'UPDATE pets SET name = name',
    'DROP TABLE pets',
    'UPDATE api_keys SET hash = hash',
    'DELETE FROM applied_migrations',
    'CREATE TABLE mine ()'
  ])
    await t.rejects(query(url, statement), { code: '42501' }, statement)
})
