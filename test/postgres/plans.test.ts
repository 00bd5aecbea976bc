import t from 'tap'
import { create, get, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

t.test(
  'PostgreSQL does not plan a statement at each execution, and the plan suits a table that grows',
  async (t) => {
    // With one connection, every statement is in the session that reports them.
    const service = await startService(t, {
      config: { MAX_DATABASE_CONNECTIONS: 1 }
    })
    const pet = { name: 'x', categoryId: 1 }
    for (let n = 0; n < 8; n++) {
      await create(service)
      await post(service, 'pets', pet)
      await post(service, 'pets', pet, { 'idempotency-key': String(n) })
      await post(service, 'pets', pet, { 'idempotency-key': '0' })
      for (const path of ['pets', 'pets?status=sold', 'pets/1'])
        await get(service, path)
    }
    // PostgreSQL makes five plans for given values, and compares them with a generic one.
    const statements = await service.database.read<{
      name: string
      again: boolean
    }>({
      text: 'SELECT name, custom_plans > 5 AS again FROM pg_prepared_statements WHERE generic_plans + custom_plans >= 8'
    })
    t.ok(statements.length >= 5)
    t.same(
      statements.filter(({ again }) => again),
      []
    )
    for (const execution of [
      `"pets-by-id"('{1}')`,
      `"create-pets-once"('{}', '{}', '{}', '{}', '{}')`
    ]) {
      const plan = JSON.stringify(
        await service.database.read({ text: `EXPLAIN EXECUTE ${execution}` })
      )
      t.notMatch(plan, /Seq Scan on (pets|idempotency_keys)/)
    }
  }
)
