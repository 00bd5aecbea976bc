import fs from 'node:fs'
import t from 'tap'
import { migrationCheck } from '../../src/postgres/migrate.ts'
import { createDatabase, migrate, open, query } from '../support/database.ts'

const empty = "TEMPLATE template0 ENCODING 'UTF8'"

t.test('migrations that start at the same time are applied once', async (t) => {
  const url = await createDatabase(t, empty)
  await Promise.all([1, 2, 3].map(() => migrate(url)))
  const [applied] = await query(
    url,
    "SELECT array_agg(name || '.sql' ORDER BY id) AS files FROM pgmigrations"
  )
  t.same(applied, { files: fs.readdirSync('migrations').sort() })
})

t.test(
  'a database that is not encoded in UTF-8 is rejected, since it cannot store all text',
  async (t) => {
    const url = await createDatabase(
      t,
      "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    await t.rejects(migrate(url), {
      message:
        "the database must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'"
    })
  }
)

t.test('a migration that fails is named, and none is applied', async (t) => {
  const url = await createDatabase(t, empty)
  await query(url, 'CREATE TABLE api_keys (x text)')
  await t.rejects(migrate(url), {
    message:
      'migration 0002_api_keys failed: relation "api_keys" already exists'
  })
  t.same(await query(url, "SELECT to_regclass('categories') AS it"), [
    { it: null }
  ])
})

t.test('a check names the pending migrations', async (t) => {
  const url = await createDatabase(t)
  await query(url, "DELETE FROM pgmigrations WHERE name ~ '^000[13]'")
  const message =
    'migrations are pending (0001_categories, 0003_messages): run `npm run migrate`'
  await t.rejects(migrationCheck(open(t, url)), { message })
})

t.test(
  'a migration finds the first key of each series of rotations, which owns its idempotency keys',
  async (t) => {
    const url = await createDatabase(t)
    await query(
      url,
      `
        DROP TABLE idempotency_keys;
        ALTER TABLE api_keys DROP root;
        DELETE FROM pgmigrations WHERE name ~ '^0008';

        INSERT INTO api_keys (name, hash)
        SELECT 'x', n::text::bytea
        FROM generate_series(1, 5) AS n;

        UPDATE api_keys
        SET replaced_by = CASE id WHEN 1 THEN 3 WHEN 3 THEN 4 END
      `
    )
    await migrate(url)
    const [keys] = await query(
      url,
      'SELECT array_agg(root::int ORDER BY id) AS roots FROM api_keys'
    )
    t.same(keys, { roots: [null, null, 1, 1, null] })
  }
)

t.test('files with other names are no migrations', async (t) => {
  const others = ['.DS_Store', '0001_categories.sql~', '.0001_x.sql.swp']
  const readdirSync = (directory: URL) => [
    ...fs.readdirSync(directory),
    ...others
  ]
  const migrations = await t.mockImport<
    typeof import('../../src/postgres/migrate.ts')
  >('../../src/postgres/migrate.ts', { 'node:fs': { ...fs, readdirSync } })

  await migrations.migrationCheck(open(t, await createDatabase(t)))()
})
