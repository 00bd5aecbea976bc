import t from 'tap'
import { createNote, startNotes } from '../../support/notes.ts'
import { get, post } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

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
  // With one connection, every statement is in the session that reports them.
  const config = { MAX_DATABASE_CONNECTIONS: 1 }
  const service = await startNotes(t, { config })
  for (let round = 0; round < rounds; round++)
    await useStatements(service, String(round))

  const read = <Row extends object>(text: string) =>
    service.database.read<Row>({ text })
  const statements = await read<{ is_replanned: boolean }>(
    `SELECT name, custom_plans > ${customPlans} AS is_replanned
     FROM pg_prepared_statements
     WHERE generic_plans + custom_plans >= ${rounds}`
  )
  t.ok(statements.length >= 5)
  t.same(
    statements.filter((statement) => statement.is_replanned),
    []
  )

  for (const name of ['createRemark', 'createRemark-with-keys']) {
    const plan = await read(`EXPLAIN EXECUTE "${name}"('[]')`)
    t.notMatch(
      JSON.stringify(plan),
      /Join Filter/,
      'no row is compared with each other row'
    )
  }

  const growing = { getNote: '[[1]]', 'createRemark-with-keys': '[]' }
  for (const [name, rows] of Object.entries(growing)) {
    const plan = await read(`EXPLAIN EXECUTE "${name}"('${rows}')`)
    t.notMatch(
      JSON.stringify(plan),
      /Seq Scan on (notes|idempotency_keys)/,
      'the plan suits a table that grows'
    )
  }
})
