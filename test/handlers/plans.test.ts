import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { get, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

/** See test/framework/postgres/plans.test.ts. */
const customPlans = 5

t.test('PostgreSQL does not plan the reads of pets each time', async (t) => {
  const config = { MAX_DATABASE_CONNECTIONS: 1 }
  const service = await startService(t, { config })
  const rounds = customPlans + 3
  await post(service, 'categories', { name: 'x' })

  for (let round = 0; round < rounds; round++) {
    await post(service, 'pets', { name: 'x', categoryId: 1 })
    for (const path of ['pets', 'pets?status=sold', 'pets/1'])
      await get(service, path)
  }

  const statements = await service.database.read<{ name: string }>({
    text: `
      SELECT name
      FROM pg_prepared_statements
      WHERE name ~ 'pet|status'
        AND generic_plans + custom_plans >= ${rounds}
        AND custom_plans <= ${customPlans}
      ORDER BY name
    `
  })

  t.same(
    statements.map(({ name }) => name),
    ['create-pets', 'pages-of-pets', 'pages-of-status', 'pets-by-id']
  )
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
