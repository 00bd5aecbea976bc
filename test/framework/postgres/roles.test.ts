import { readFileSync } from 'node:fs'
import pg from 'pg'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { unusableDatabase } from '../../../src/framework/postgres/reasons.ts'
import { api as petShop } from '../../../src/handlers/index.ts'
import {
  createDatabase,
  createRoles,
  migrate,
  query,
  urlAs
} from '../../support/database.ts'
import { apiKeyPrefix, notes, startNotes } from '../../support/notes.ts'
import { startService } from '../../support/service.ts'

/** The role that a URL names. */
const roleIn = (url: string) => new URL(url).username

t.test('the role of the service can manage keys', async (t) => {
  const { service } = await createRoles(t)
  const { app, keys } = await startNotes(t, { databaseUrl: service })
  t.equal((await app.inject('/readyz')).statusCode, 200)

  await keys.create('x')
  t.match(await keys.rotate('2', '0s'), new RegExp(`^${apiKeyPrefix}`))
  await keys.revoke('3')

  const events = (await keys.events()).map(({ event }) => event)
  t.same(events, ['created', 'created', 'rotated', 'created', 'revoked'])
})

t.test('the role of the service owns nothing', async (t) => {
  const { service } = await createRoles(t)
  const owned = await query(
    service,
    'SELECT relname FROM pg_class WHERE relowner = current_user::regrole'
  )

  t.same(owned, [])
})

const forbidden = [
  'UPDATE notes SET name = name',
  'DELETE FROM remarks',
  'TRUNCATE notes',
  'DROP TABLE notes',
  'UPDATE pgmigrations SET name = name',
  'CREATE TABLE mine ()'
]

t.test(
  'the role of the service cannot do what no operation needs',
  async (t) => {
    const { service } = await createRoles(t)

    for (const statement of forbidden)
      await t.rejects(query(service, statement), { code: '42501' }, statement)
  }
)

const further = [
  'DELETE ON remarks',
  'UPDATE (name) ON notes',
  'UPDATE ON SEQUENCE notes_id_seq'
]

t.test('starts at the same time revoke further privileges', async (t) => {
  const { owner, service } = await createRoles(t)
  const DATABASE_SERVICE_ROLE = roleIn(service)
  const granted = () =>
    query(
      owner,
      `SELECT relname, relacl::text
       FROM pg_class
       UNION ALL
       SELECT attname, attacl::text
       FROM pg_attribute
       WHERE attacl <> '{}'
       ORDER BY relname, relacl`
    )
  const before = await granted()

  for (const privilege of further) {
    const to = `TO ${DATABASE_SERVICE_ROLE} WITH GRANT OPTION`
    await query(owner, `GRANT ${privilege} ${to}`)
  }
  t.notSame(await granted(), before)

  const starts = [1, 2, 3].map(() => migrate(owner, { DATABASE_SERVICE_ROLE }))
  await Promise.all(starts)
  t.same(await granted(), before)
})

t.test('a start for an unknown role fails', async (t) => {
  const { owner } = await createRoles(t)
  const migration = migrate(owner, { DATABASE_SERVICE_ROLE: '"nobody" $& all' })
  t.match(await migration.catch(unusableDatabase), {
    message:
      'DATABASE_SERVICE_ROLE cannot be used: grants.sql failed: ' +
      'role ""nobody" $& all" does not exist: create it, or correct its name'
  })
})

/** Plans each statement, which also checks the privileges that it needs. */
async function explainStatements(t: Test, url: string, database: Database) {
  const client = new pg.Client(url)
  await client.connect()

  for (const [name, text] of database.statements.texts) {
    await client.query(`PREPARE explained AS ${text}`)
    const { rows } = await client.query<{ arguments: string }>(
      `SELECT repeat(', NULL', cardinality(parameter_types)) AS arguments
       FROM pg_prepared_statements
       WHERE name = 'explained'`
    )
    const values = rows[0]?.arguments.slice(2)
    const list = values === '' ? '' : `(${values})`
    await t.resolves(client.query(`EXPLAIN EXECUTE explained${list}`), name)
    await client.query('DEALLOCATE explained')
  }

  await client.end()
}

for (const api of [petShop, notes]) {
  t.test(`grants.sql is enough for ${api.names.service}`, async (t) => {
    const { service } = await createRoles(t)
    const { database } = await startService(t, { databaseUrl: service, api })
    t.not(database.statements.texts.size, 0)
    await explainStatements(t, service, database)
  })
}

interface CloudNativePgCluster {
  spec: { bootstrap: { initdb: { postInitApplicationSQL: string[] } } }
}

t.test(
  'the SQL for CloudNativePG creates the same role as deploy/roles.sh',
  async (t) => {
    const file = 'deploy/kubernetes/cloudnative-pg/cluster.yaml'
    const [document] = parseAllDocuments(readFileSync(file, 'utf8'))
    const { spec } = document?.toJS() as CloudNativePgCluster
    const url = await createDatabase(t)
    // The role gets the name of the database, as it has in the file.
    const name = new URL(url).pathname.slice(1)
    t.teardown(() => query(url, `DROP OWNED BY ${name}; DROP ROLE ${name}`))
    for (const statement of spec.bootstrap.initdb.postInitApplicationSQL)
      await query(url, statement.replaceAll('pet_categories', name))

    await query(url, `ALTER ROLE ${name} PASSWORD 'secret'`)
    const service = urlAs(url, name)
    t.same(await query(service, 'SHOW statement_timeout'), [
      { statement_timeout: '1min' }
    ])

    const others = await createRoles(t)
    const stranger = Object.assign(new URL(others.service), {
      pathname: name
    }).href
    await t.rejects(query(stranger, 'SELECT'), { code: '42501' })
  }
)
