import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import {
  createDatabase,
  createRoles,
  migrate,
  query
} from '../support/database.ts'
import { startService } from '../support/service.ts'

t.test(
  'the role of the service can manage keys, owns nothing, and can change nothing else',
  async (t) => {
    const { owner, service } = await createRoles(t)
    const { app, keys } = await startService(t, { databaseUrl: service })
    t.equal((await app.inject('/readyz')).statusCode, 200)
    await keys.create('x')
    t.match(await keys.rotate('2', '0s'), /^petcat_/)
    await keys.revoke('3')
    const events = (await keys.events()).map(({ event }) => event)
    t.same(events, ['created', 'created', 'rotated', 'created', 'revoked'])

    t.same(
      await query(
        service,
        'SELECT relname FROM pg_class WHERE relowner = current_user::regrole'
      ),
      []
    )
    for (const statement of [
      'DELETE FROM categories',
      'UPDATE categories SET name = name',
      'TRUNCATE messages',
      'DROP TABLE messages',
      'UPDATE pgmigrations SET name = name',
      'CREATE TABLE mine ()'
    ]) {
      await t.rejects(query(service, statement), { code: '42501' }, statement)
    }

    const DATABASE_SERVICE_ROLE = new URL(service).username
    await query(owner, `GRANT DELETE ON categories TO ${DATABASE_SERVICE_ROLE}`)
    await Promise.all(
      [1, 2, 3].map(() => migrate(owner, { DATABASE_SERVICE_ROLE }))
    )
    await t.rejects(
      query(service, 'DELETE FROM categories'),
      { code: '42501' },
      'further privileges are revoked'
    )
    await t.rejects(
      migrate(owner, { DATABASE_SERVICE_ROLE: 'nobody at all' }),
      { code: '42704' }
    )
  }
)

t.test(
  'other roles cannot call the functions that have the rights of the owner',
  async (t) => {
    const rows = await query(
      await createDatabase(t),
      `
        SELECT proname AS name, has_function_privilege('public', oid, 'EXECUTE') AS "isPublic"
        FROM pg_proc
        WHERE prosecdef AND pronamespace = 'public'::regnamespace
        ORDER BY name
      `
    )
    t.same(rows, [
      { name: 'lock_categories', isPublic: false },
      { name: 'prune_changes', isPublic: false },
      { name: 'record_change', isPublic: false }
    ])
  }
)

interface CloudNativePgCluster {
  spec: { bootstrap: { initdb: { postInitApplicationSQL: string[] } } }
}

t.test(
  'the SQL for CloudNativePG creates the role of the service as deploy/roles.sh does',
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
    const login = { username: name, password: 'secret' }
    const service = Object.assign(new URL(url), login).href
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
