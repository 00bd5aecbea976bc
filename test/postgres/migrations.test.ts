import { readdirSync } from 'node:fs'
import t from 'tap'
import { openDatabase } from '../../src/postgres/database.ts'
import { migrationCheck } from '../../src/postgres/migrations.ts'
import { createDatabase, migrate, query, silent } from '../support/database.ts'

const empty = "TEMPLATE template0 ENCODING 'UTF8'"
const timeout = 5000

t.test('migrations that start at the same time are applied once', async (t) => {
  const url = await createDatabase(t, empty)
  await Promise.all([1, 2, 3].map(() => migrate(url)))
  const all = readdirSync('migrations')
    .sort()
    .map((file) => ({ name: file.replace('.sql', '') }))
  t.same(await query(url, 'SELECT name FROM pgmigrations ORDER BY id'), all)
})

t.test('a database that is not encoded in UTF-8 is rejected, since it cannot store all text', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  await t.rejects(migrate(url), {
    message: "the database must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'"
  })
})

t.test('a migration that fails is named, and none is applied', async (t) => {
  const url = await createDatabase(t, empty)
  await query(url, 'CREATE TABLE api_keys (x text)')
  await t.rejects(migrate(url), {
    message: 'migration 0002_api_keys failed: relation "api_keys" already exists'
  })
  t.same(await query(url, "SELECT to_regclass('categories') AS it"), [{ it: null }])
})

t.test('a check changes nothing and names the pending migrations', async (t) => {
  const url = await createDatabase(t, empty)
  const database = openDatabase({ url, poolSize: 1, timeout }, silent)
  t.teardown(() => database.close())
  const check = migrationCheck(database)
  await t.rejects(check(), { message: /^migrations are pending \(0001_categories, .*\): run `npm run migrate`$/ })
  t.same(await query(url, "SELECT to_regclass('pgmigrations') AS it"), [{ it: null }])
  await migrate(url)
  await check()
  await query(url, "DELETE FROM pgmigrations WHERE name = '0003_messages'")
  await t.rejects(check(), { message: 'migrations are pending (0003_messages): run `npm run migrate`' })
})
