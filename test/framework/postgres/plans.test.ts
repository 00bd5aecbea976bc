import t from 'tap'
import { createNote, startNotes } from '../../support/notes.ts'
import { get, post } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/**
 * PostgreSQL makes this many plans for the values of a prepared statement. Then
 * it compares them with a generic plan.
 */
const customPlans = 5
const rounds = customPlans + 3

/** Runs every kind of statement once. */
async function useStatements(service: Service, key: string) {
  const remark = { text: 'x', noteId: 1 }
  await createNote(service)
  await post(service, 'remarks', remark)
  for (const sent of [key, 'repeated'])
    await post(service, 'remarks', remark, { 'idempotency-key': sent })
  await get(service, 'remarks')
  await get(service, 'notes/1')
}

t.test('PostgreSQL does not plan a statement at each execution', async (t) => {
  const service = await startNotes(t)
  const { database } = service
  const text = `
    SELECT name, custom_plans > ${customPlans} AS is_replanned
    FROM pg_prepared_statements
    WHERE generic_plans + custom_plans >= ${rounds}`
  let round = 0
  let statements: { is_replanned: boolean }[] = []
  // The session that was used last reports its statements.
  const areRepeated = async () => {
    await useStatements(service, String(round++))
    statements = await database.run('reads', { text })
    return statements.length >= 5
  }
  await until(areRepeated, 'a session has repeated the statements')

  t.same(
    statements.filter((statement) => statement.is_replanned),
    []
  )

  const planOf = async (name: string, rows = '[]') => {
    const explain = { text: `EXPLAIN EXECUTE "${name}"('${rows}')` }
    return JSON.stringify(await database.run('reads', explain))
  }
  for (const name of ['createRemark', 'createRemark-idempotent']) {
    t.notMatch(
      await planOf(name),
      /Join Filter/,
      'no row is compared with each other row'
    )
  }

  const growing = { getNote: '[[1]]', 'createRemark-idempotent': '[]' }
  for (const [name, rows] of Object.entries(growing)) {
    t.notMatch(
      await planOf(name, rows),
      /Seq Scan on (notes|idempotency_keys)/,
      'the plan suits a table that grows'
    )
  }
})
