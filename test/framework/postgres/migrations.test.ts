import fs from 'node:fs'
import { Socket } from 'node:net'
import t from 'tap'
import {
  migrationCheck,
  readMigrations
} from '../../../src/framework/postgres/migrate.ts'
import { api } from '../../../src/handlers/index.ts'
import { schemaOf } from '../../../src/framework/schema.ts'
import {
  createDatabase,
  empty,
  emptyLatin1,
  migrate,
  openDatabase,
  query
} from '../../support/database.ts'
import { notes } from '../../support/notes.ts'

const namesIn = (folder: string) =>
  fs
    .readdirSync(`migrations/${folder}`)
    .sort()
    .map((file) => file.replace('.sql', ''))

const frameworkNames = namesIn('framework')

/** The names of the migrations that a database has, in their order. */
const namesOfApplied = async (url: string) => {
  const rows = await query(url, 'SELECT name FROM pgmigrations ORDER BY id')
  return rows.map(({ name }) => name)
}

t.test(
  'concurrent migrations are applied once, the files of the framework first',
  async (t) => {
    const url = await createDatabase(t, empty)
    const schema = schemaOf(api)
    await Promise.all([1, 2, 3].map(() => migrate(url, {}, schema)))
    t.same(await namesOfApplied(url), [
      ...frameworkNames,
      ...namesIn('resources')
    ])
  }
)

t.test('the framework needs no tables of an API', async (t) => {
  const url = await createDatabase(t, empty)
  const none = new URL(`file://${t.testdir({})}/`)
  await migrate(url, {}, schemaOf({ migrations: none, privileges: {} }))
  t.same(await namesOfApplied(url), frameworkNames)

  await migrate(url, {}, schemaOf(notes))
  t.same(await namesOfApplied(url), [...frameworkNames, '0001_notes'])
})

t.test('a database that is not encoded in UTF-8 is rejected', async (t) => {
  const url = await createDatabase(t, emptyLatin1)
  await t.rejects(migrate(url), {
    message:
      "it must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'"
  })
})

t.test('a migration that fails is named, and none is applied', async (t) => {
  const url = await createDatabase(t, empty)
  await query(url, 'CREATE TABLE notes (x text)')
  await t.rejects(migrate(url, {}, schemaOf(notes)), {
    message: 'migration 0001_notes failed: relation "notes" already exists'
  })
  t.same(await query(url, "SELECT to_regclass('api_keys') AS it"), [
    { it: null }
  ])
})

t.test(
  'a migration does not wait forever for a server that is gone',
  async (t) => {
    const probing = t.capture(Socket.prototype, 'setKeepAlive')
    const url = await createDatabase(t, empty)
    await migrate(url)
    const seconds10 = [true, 10_000]
    t.match(probing(), [{ args: seconds10 }])
  }
)

t.test('a check names the pending migrations', async (t) => {
  const url = await createDatabase(t)
  await query(url, "DELETE FROM pgmigrations WHERE name ~ '^000[15]'")
  const { migrations } = schemaOf(notes)
  const message =
    'migrations are pending (0005_key_rotation, 0001_notes): run `npm run migrate`'
  await t.rejects(migrationCheck(openDatabase(t, url), migrations), { message })
})

t.test(
  'a migration finds the first API key of each series of rotations',
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

t.test('files with other names are not migrations', (t) => {
  const folder = t.testdir({
    '0002_b.sql': '',
    '0001_a.sql': '',
    '.DS_Store': '',
    '0001_a.sql~': '',
    '.0001_x.sql.swp': ''
  })

  const migrations = readMigrations(new URL(`file://${folder}/`))
  t.same(
    migrations.map(({ name }) => name),
    ['0001_a', '0002_b']
  )
  t.end()
})
