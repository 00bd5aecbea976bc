import t from 'tap'
import { startService } from '../support/service.ts'

t.test('PostgreSQL plans no statement again for each execution', async (t) => {
  // With one connection, every statement is in the session that reports them.
  const { app, auth, database } = await startService(t, { config: { DATABASE_POOL_SIZE: 1 } })
  const create = (url: string, payload: object, key = {}) =>
    app.inject({ method: 'POST', url, headers: { ...auth, ...key }, payload })
  const pet = { name: 'x', categoryId: 1 }
  for (let n = 0; n < 8; n++) {
    await create('/v1/categories', { name: 'x' })
    await create('/v1/pets', pet)
    await create('/v1/pets', pet, { 'idempotency-key': String(n) })
    await create('/v1/pets', pet, { 'idempotency-key': '0' })
    for (const url of ['/v1/pets', '/v1/pets?status=sold', '/v1/pets/1']) await app.inject({ url, headers: auth })
  }
  const statements = await database.read<{ name: string; custom_plans: bigint }>({
    text: 'SELECT name, custom_plans FROM pg_prepared_statements WHERE generic_plans + custom_plans >= 8'
  })
  t.equal(statements.length, 6)
  // PostgreSQL makes five plans for given values, and compares them with a generic one.
  t.same(
    statements.filter(({ custom_plans }) => custom_plans > 5),
    []
  )
})
