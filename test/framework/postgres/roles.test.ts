import t from 'tap'
import { expiredKeysRemover } from '../../../src/framework/creates/expired-idempotency-keys.ts'
import { createRoles, query } from '../../support/database.ts'
import { startService } from '../../support/service.ts'

const { service } = await createRoles(t)

t.test('grants.sql is enough for all statements, and for keys', async (t) => {
  const { database, keys } = await startService(t, { databaseUrl: service })
  expiredKeysRemover(database)
  // It checks the privileges that the statement needs.
  for (const [name, text] of database.statements) {
    const parameters = new Set(text.match(/\$\d/g))
    const values = [...parameters].map(() => 'NULL').join(', ')
    const explain = `EXPLAIN EXECUTE statement ${values && `(${values})`}`
    const all = `PREPARE statement AS ${text}; ${explain}`
    await t.resolves(query(service, all), name)
  }

  await keys.revoke('1')
  await keys.create('x')
  await keys.rotate('2', '0s')
  const states = (await keys.list()).map(({ state }) => state)
  t.same(states, ['revoked', 'expired', 'valid'])
})

const forbidden = [
  'UPDATE pets SET name = name',
  'DROP TABLE pets',
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
