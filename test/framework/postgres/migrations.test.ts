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

/** The names of the migrations that a database has, in their order. */
const namesOfApplied = async (url: string) => {
  const rows = await query(url, 'SELECT name FROM pgmigrations ORDER BY id')
  return rows.map(({ name }) => name)
}

/** A folder of migrations with these files, for one test. */
const folderOf = (t: Test, files: Record<string, string>) =>
  pathToFileURL(`${t.testdir(files)}/`)

t.test('concurrent migrations are applied once, in order', async (t) => {
  const url = await createDatabase(t, empty)
  await Promise.all(
    [1, 2, 3].map(() => migrate(url, {}, [notes.migrationsFolder]))
  )
  t.same(await namesOfApplied(url), ['0001_framework', '0002_notes'])
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
  const folder = folderOf(t, { '0003_add-index.sql': '', 'notes.md': '' })
  await t.rejects(migrate(url, {}, [folder]), {
    message: 'the migration 0003_add-index.sql must be called 0001_words.sql'
  })
})

const original = 'CREATE TABLE colors (\n  name text\n)'
const accepted = {
  'as it was': { '9999_colors.sql': original },
  'with CRLF': { '9999_colors.sql': original.replaceAll('\n', '\r\n') },
  'in a later version only': {}
}

/** Two ways to look at a database to which the original is applied. */
async function checksOf(t: Test, files: Record<string, string>) {
  const url = await createDatabase(t)
  await migrate(url, {}, [folderOf(t, accepted['as it was'])])
  const folder = folderOf(t, files)
  const findPending = pendingMigrationsFinder(openDatabase(t, url), folder)
  return { again: () => migrate(url, {}, [folder]), findPending }
}

for (const [state, files] of Object.entries(accepted)) {
  t.test(`an applied file is accepted ${state}`, async (t) => {
    const { again, findPending } = await checksOf(t, files)
    await again()
    t.same(await findPending(), [])
  })
}

t.test('an applied file that was edited is named', async (t) => {
  const edited = original.replace('name', 'color')
  const { again, findPending } = await checksOf(t, {
    '9999_colors.sql': edited
  })
  const message =
    'applied migrations have changed (9999_colors): ' +
    'restore their files, or copy the data to a new database'
  await t.rejects(again(), { message })
  await t.rejects(findPending(), { message })
})

t.test(
  'a database of the first commits, without hashes, is served',
  async (t) => {
    const url = await createDatabase(t)
    await query(url, 'ALTER TABLE pgmigrations DROP COLUMN hash')
    const findPending = pendingMigrationsFinder(
      openDatabase(t, url),
      notes.migrationsFolder
    )
    t.same(await findPending(), [])
    await migrate(url)
    t.same(await findPending(), [])
  }
)

t.test('an older database, whose files were edited, is named', async (t) => {
  const url = await createDatabase(t)
  await query(
    url,
    `ALTER TABLE pgmigrations DROP COLUMN hash;
     ALTER FUNCTION raise_missing_row(text) RENAME TO missing_row`
  )
  const { migrationsFolder } = notes
  await t.rejects(migrate(url, {}, [migrationsFolder]), {
    message: /^applied migrations have changed \(0001_framework, 0002_notes\)/
  })
})

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
  t.equal((await namesOfApplied(databaseUrl)).includes('9999_color'), false)

  await reader.release()
  await migration
  t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
  t.same(clients.failures, {})
  t.equal((await namesOfApplied(databaseUrl)).at(-1), '9999_color')
  t.same(
    lines.map(({ msg }) => msg),
    [
      '9999_color.sql failed: canceling statement due to lock timeout; trying again',
      'migrated'
    ]
  )
})
