import t from 'tap'
import { keyPrefix } from '../../generated/names.ts'
import {
  createDatabase,
  createRoles,
  migrate,
  query
} from '../support/database.ts'
import { startNotes } from '../support/notes.ts'

t.test(
  'the role of the service can manage keys, owns nothing, and can change nothing else',
  async (t) => {
    const { owner, service } = await createRoles(t)
    const { app, keys } = await startNotes(t, { databaseUrl: service })
    t.equal((await app.inject('/readyz')).statusCode, 200)
    await keys.create('x')
    t.match(await keys.rotate('2', '0s'), new RegExp(`^${keyPrefix}`))
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
      'UPDATE notes SET name = name',
      'DELETE FROM remarks',
      'TRUNCATE notes',
      'DROP TABLE notes',
      'UPDATE pgmigrations SET name = name',
      'CREATE TABLE mine ()'
    ]) {
      await t.rejects(query(service, statement), { code: '42501' }, statement)
    }

    const DATABASE_SERVICE_ROLE = new URL(service).username
    await query(owner, `GRANT DELETE ON remarks TO ${DATABASE_SERVICE_ROLE}`)
    await Promise.all(
      [1, 2, 3].map(() => migrate(owner, { DATABASE_SERVICE_ROLE }))
    )
    await t.rejects(
      query(service, 'DELETE FROM remarks'),
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
      `
    )
    const names = rows.map(({ name }) => name)
    t.ok(names.includes('prune_changes'))
    t.ok(names.includes('record_change'))

    const callable = rows.filter(({ isPublic }) => isPublic)
    t.same(callable, [])
  }
)
