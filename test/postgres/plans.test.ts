import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { create, get, post } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'

/**
 * PostgreSQL makes so many plans for the values of a prepared statement. Then
 * it compares them with a generic plan.
 */
const customPlans = 5

/** Runs every kind of statement once. */
async function useStatements(service: Service, idempotencyKey: string) {
  const pet = { name: 'x', categoryId: 1 }
  await create(service)
  await post(service, 'pets', pet)
  await post(service, 'pets', pet, { 'idempotency-key': idempotencyKey })
  await post(service, 'pets', pet, { 'idempotency-key': 'repeated' })
  await get(service, 'pets')
  await get(service, 'pets?status=sold')
  await get(service, 'pets/1')
}

/** The plan of a prepared statement, as text. */
async function planOf({ database }: Service, execution: string) {
  const text = `EXPLAIN EXECUTE ${execution}`
  return JSON.stringify(await database.read({ text }))
}

t.test('PostgreSQL does not plan a statement at each execution', async (t) => {
  // With one connection, every statement is in the session that reports them.
  const config = { MAX_DATABASE_CONNECTIONS: 1 }
  const service = await startService(t, { config })
  const rounds = customPlans + 3
  for (let round = 0; round < rounds; round++)
    await useStatements(service, String(round))

  const statements = await service.database.read<{
    name: string
    is_replanned: boolean
  }>({
    text: `
      SELECT name, custom_plans > ${customPlans} AS is_replanned
      FROM pg_prepared_statements
      WHERE generic_plans + custom_plans >= ${rounds}
    `
  })
  t.ok(statements.length >= 5)
  const replanned = statements.filter((statement) => statement.is_replanned)
  t.same(replanned, [])

  await t.test('the plan suits a table that grows', async (t) => {
    const petsById = await planOf(service, `"pets-by-id"('{1}')`)
    t.notMatch(petsById, /Seq Scan on pets/)

    const none = ['{}', '{}', '{}', '{}', '{}'].map((array) => `'${array}'`)
    const createOnce = await planOf(
      service,
      `"create-pets-once"(${none.join()})`
    )
    t.notMatch(createOnce, /Seq Scan on idempotency_keys/)
  })
})

t.test('foreign keys of pets and orders have an index', async (t) => {
  const withoutIndex = `
    SELECT conrelid::regclass::text AS table, conname AS constraint
    FROM pg_constraint
    WHERE contype = 'f'
      AND conrelid IN ('pets'::regclass, 'orders'::regclass)
      AND NOT EXISTS (
        SELECT
        FROM pg_index
        WHERE indrelid = conrelid AND indkey[0] = conkey[1]
      )
  `
  t.same(await query(await createDatabase(t), withoutIndex), [])
})
