import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseAllDocuments, type YAMLSeq } from 'yaml'
import { pendingMigrationsFinder } from '../../../src/framework/postgres/migrate.ts'
import { api as petShop } from '../../../src/handlers/index.ts'
import {
  createDatabase,
  createRoles,
  migrate,
  openDatabase,
  query,
  urlAs
} from '../../support/database.ts'
import { notes, startNotes } from '../../support/notes.ts'
import { startService } from '../../support/service.ts'

const { owner, service } = await createRoles(t)

t.test('the role of the service can manage keys', async (t) => {
  const { app, keys } = await startNotes(t, { databaseUrl: service })
  t.equal((await app.inject('/readyz')).statusCode, 200)

  await keys.revoke('1')
  await keys.create('x')
  await keys.rotate('2', '0s')
  const states = (await keys.list()).map(({ state }) => state)
  t.same(states, ['revoked', 'expired', 'valid'])
})

for (const api of [petShop, notes]) {
  t.test(`grants.sql is enough for ${api.names.service}`, async (t) => {
    const { database } = await startService(t, { databaseUrl: service, api })
    t.not(database.statements.size, 0)
    // It checks the privileges that the statement needs.
    for (const [name, text] of database.statements) {
      const parameters = new Set(text.match(/\$\d/g))
      const values = [...parameters].map(() => 'NULL').join(', ')
      const explain = `EXPLAIN EXECUTE statement ${values && `(${values})`}`
      const all = `PREPARE statement AS ${text}; ${explain}`
      await t.resolves(query(service, all), name)
    }
  })
}

const forbidden = [
  'UPDATE notes SET name = name',
  'DROP TABLE notes',
  'UPDATE api_keys SET hash = hash',
  'CREATE TABLE mine ()'
]

t.test('the role owns nothing, and can do nothing else', async (t) => {
  const owned =
    'SELECT relname FROM pg_class WHERE relowner = current_user::regrole'
  t.same(await query(service, owned), [])

  for (const statement of forbidden)
    await t.rejects(query(service, statement), { code: '42501' }, statement)
})

t.test('migrating takes no privilege from another version', async (t) => {
  const DATABASE_SERVICE_ROLE = new URL(service).username
  await query(owner, `GRANT DELETE ON key_events TO ${DATABASE_SERVICE_ROLE}`)

  await migrate(owner, { DATABASE_SERVICE_ROLE })
  await t.resolves(query(service, 'DELETE FROM key_events'))
})

t.test('the SQL for CloudNativePG keeps other roles out', async (t) => {
  const file = 'deploy/kubernetes/cloudnative-pg/cluster.yaml'
  const [cluster] = parseAllDocuments(readFileSync(file, 'utf8'))
  const path = ['spec', 'bootstrap', 'initdb', 'postInitApplicationSQL']
  const statements = (cluster?.getIn(path) as YAMLSeq).toJSON() as string[]
  const url = await createDatabase(t)
  // The role gets the name of the database, as it has in the file.
  const name = new URL(url).pathname.slice(1)
  t.teardown(() => query(url, `DROP OWNED BY ${name}; DROP ROLE ${name}`))
  for (const statement of statements)
    await query(url, statement.replaceAll('pet_categories', name))

  await query(url, `ALTER ROLE ${name} PASSWORD 'secret'`)
  t.same(await query(urlAs(url, name), 'SHOW statement_timeout'), [
    { statement_timeout: '2min' }
  ])

  const others = new URL(service).username
  await t.rejects(query(urlAs(url, others), 'SELECT'), { code: '42501' })
})

t.test('a role that may not connect is not told to migrate', async (t) => {
  const name = new URL(owner).pathname.slice(1)
  await query(owner, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`)
  const database = openDatabase(t, service)
  const findPending = pendingMigrationsFinder(database, notes.migrationsFolder)
  await t.rejects(findPending(), { message: /permission denied for database/ })
})
