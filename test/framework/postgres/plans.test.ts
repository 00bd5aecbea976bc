import t from 'tap'
import { connect } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'

t.test('statements suit tables that grow', async (t) => {
  const { database, databaseUrl } = await startNotes(t)
  const client = await connect(t, databaseUrl)
  await client.query('SET plan_cache_mode = force_generic_plan')
  const planOf = async (name: string) => {
    await client.query(`PREPARE "${name}" AS ${database.statements.get(name)}`)
    const { rows } = await client.query(`EXPLAIN EXECUTE "${name}"('[]')`)
    return JSON.stringify(rows)
  }

  for (const name of ['getNote', 'createRemark', 'createRemark-idempotent']) {
    const plan = await planOf(name)
    t.notMatch(plan, /Seq Scan on (notes|idempotency_keys)/)
    t.notMatch(plan, /Join Filter/, 'no row is compared with each other row')
  }
})
