import t from 'tap'
import { privileges } from '../../src/privileges.ts'
import { createRoles, migrate, query } from '../support/database.ts'
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
      [1, 2, 3].map(() => migrate(owner, { DATABASE_SERVICE_ROLE }, privileges))
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
