import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import {
  applyMigrations,
  pendingMigrationsFinder
} from '../../../src/framework/postgres/migrate.ts'
import {
  begin,
  createDatabase,
  empty,
  lockAwaited,
  migrate,
  openDatabase,
  query
} from '../../support/database.ts'
import { notes, startNotes, storedNotes } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import { startClients } from '../../support/resend.ts'
import { until } from '../../support/until.ts'

/** A folder of migrations with these files, for one test. */
const folderOf = (t: Test, files: Record<string, string>) =>
  pathToFileURL(`${t.testdir(files)}/`)

t.test('concurrent migrations are applied once, in order', async (t) => {
  const url = await createDatabase(t, empty)
  await Promise.all(
    [1, 2, 3].map(() => migrate(url, {}, [notes.migrationsFolder]))
  )
  const applied = 'SELECT name FROM pgmigrations ORDER BY id'
  t.same(await query(url, applied), [
    { name: '0001_framework' },
    { name: '0002_notes' }
  ])
})

t.test('a migration that fails is named, and none is applied', async (t) => {
  const url = await createDatabase(t, empty)
  await query(url, 'CREATE TABLE notes (x text)')
  await t.rejects(migrate(url, {}, [notes.migrationsFolder]), {
    message: '0002_notes.sql failed: relation "notes" already exists'
  })
  t.same(await query(url, "SELECT to_regclass('api_keys') AS it"), [
    { it: null }
  ])
})

t.test('a migration with another name is not left out', async (t) => {
  const url = await createDatabase(t)
  const folder = folderOf(t, { '0003_add-index.sql': '' })
  await t.rejects(migrate(url, {}, [folder]), {
    message: 'the migration 0003_add-index.sql must be called 0001_words.sql'
  })
})

/** Applies a folder with these files. Returns what a probe finds pending. */
async function apply(t: Test, url: string, files: Record<string, string>) {
  const folder = folderOf(t, files)
  await migrate(url, {}, [folder])
  return pendingMigrationsFinder(openDatabase(t, url), folder)()
}

t.test('an applied file may have CRLF, but may not be edited', async (t) => {
  const url = await createDatabase(t)
  const file = '9999_colors.sql'
  const original = 'CREATE TABLE colors (\n  name text\n)'
  await apply(t, url, { [file]: original })
  t.same(await apply(t, url, { [file]: original.replace(/\n/g, '\r\n') }), [])
  t.same(await apply(t, url, {}), [], 'it is from a later version')

  const edited = original.replace('name', 'color')
  await t.rejects(apply(t, url, { [file]: edited }), {
    message:
      'applied migrations have changed (9999_colors): ' +
      'restore their files, or copy the data to a new database'
  })
})

t.test(
  'a database of the first commits gets the column of hashes',
  async (t) => {
    const url = await createDatabase(t)
    await query(url, 'ALTER TABLE pgmigrations DROP COLUMN hash')
    const database = openDatabase(t, url)
    const findPending = pendingMigrationsFinder(
      database,
      notes.migrationsFolder
    )
    t.same(await findPending(), [])
    await migrate(url)
    t.same(await findPending(), [])
  }
)

t.test('creates go on while a migration waits for a reader', async (t) => {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS: 5000 } })
  const { databaseUrl } = service
  const reader = await begin(t, databaseUrl, 'SELECT FROM notes')
  const folder = folderOf(t, {
    '9999_color.sql': 'ALTER TABLE notes ADD COLUMN color text'
  })
  const { lines, log } = recorder()
  const config = { DATABASE_TIMEOUT_MS: 1000 }
  const migration = applyMigrations(databaseUrl, config, folder, log)
  await lockAwaited(databaseUrl)

  const clients = startClients([service])
  await until(() => lines.length > 0, 'the migration has given up once')
  await clients.stores(20)

  await reader.release()
  await migration
  t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
  t.same(clients.failures, {})
  t.same(
    lines.map(({ msg }) => msg),
    [
      '9999_color.sql failed: canceling statement due to lock timeout; trying again',
      'migrated'
    ]
  )
})
