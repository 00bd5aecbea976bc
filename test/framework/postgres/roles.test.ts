import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import {
  createDatabase,
  createRoles,
  migrate,
  query,
  urlAs
} from '../../support/database.ts'
import { startNotes, apiKeyPrefix } from '../../support/notes.ts'

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

t.test('starts at the same time revoke further privileges', async (t) => {
  const { owner, service } = await createRoles(t)
  const DATABASE_SERVICE_ROLE = roleIn(service)
  await query(owner, `GRANT DELETE ON remarks TO ${DATABASE_SERVICE_ROLE}`)
  await query(service, 'DELETE FROM remarks')

  const starts = [1, 2, 3].map(() => migrate(owner, { DATABASE_SERVICE_ROLE }))
  await Promise.all(starts)

  await t.rejects(query(service, 'DELETE FROM remarks'), { code: '42501' })
})

t.test('a start for an unknown role fails', async (t) => {
  const { owner } = await createRoles(t)
  const role = { DATABASE_SERVICE_ROLE: 'nobody at all' }

  await t.rejects(migrate(owner, role), { code: '42704' })
})

/** The version of each row in which PostgreSQL stores privileges. */
const catalogVersions = `
  SELECT 'pg_class' AS catalog, oid, NULL AS attnum, xmin::text
  FROM pg_class
  UNION ALL
  SELECT 'pg_attribute', attrelid, attnum, xmin::text
  FROM pg_attribute
  UNION ALL
  SELECT 'pg_proc', oid, NULL, xmin::text
  FROM pg_proc
  ORDER BY catalog, oid, attnum
`

t.test('a second start changes no privileges and no table', async (t) => {
  const { owner, service } = await createRoles(t)
  const DATABASE_SERVICE_ROLE = roleIn(service)
  const before = await query(owner, catalogVersions)

  await migrate(owner, { DATABASE_SERVICE_ROLE })

  t.same(await query(owner, catalogVersions), before)
})

const unneeded: { privilege: string; on: string }[] = [
  { privilege: 'SELECT', on: 'notes' },
  { privilege: 'UPDATE', on: 'notes' },
  { privilege: 'UPDATE (name)', on: 'notes' },
  { privilege: 'UPDATE', on: 'SEQUENCE notes_id_seq' }
]

for (const { privilege, on } of unneeded) {
  t.test(
    `a start revokes ${privilege} with grant option on ${on}`,
    async (t) => {
      const { owner, service } = await createRoles(t)
      const DATABASE_SERVICE_ROLE = roleIn(service)
      const to = `TO ${DATABASE_SERVICE_ROLE}`
      const privileges = () =>
        query(
          owner,
          `SELECT relname, relacl::text
           FROM pg_class
           UNION ALL
           SELECT attrelid::regclass::text, attacl::text
           FROM pg_attribute
           WHERE attacl <> '{}'
           ORDER BY relname, relacl`
        )

      const before = await privileges()

      await query(owner, `GRANT ${privilege} ON ${on} ${to} WITH GRANT OPTION`)
      t.notSame(await privileges(), before)
      await migrate(owner, { DATABASE_SERVICE_ROLE })

      t.same(await privileges(), before)
    }
  )
}

t.test(
  'other roles cannot call the functions that have the rights of the owner',
  async (t) => {
    const rows = await query(
      await createDatabase(t),
      `
        SELECT proname AS name, has_function_privilege('public', oid, 'EXECUTE') AS "isPublic"
        FROM pg_proc
        WHERE prosecdef AND pronamespace = 'public'::regnamespace
      `
    )
    const names = rows.map(({ name }) => name)
    t.ok(names.includes('prune_changes'))
    t.ok(names.includes('record_change'))

    const callable = rows.filter(({ isPublic }) => isPublic)
    t.same(callable, [])
  }
)

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
