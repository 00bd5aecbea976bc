import t from 'tap'
import { createNote, startNotes } from '../../support/notes.ts'
import { get, post } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

/**
 * PostgreSQL makes this many plans for the values of a prepared statement. Then
 * it compares them with a generic plan.
 */
const customPlans = 5

/** Runs every kind of statement once. */
async function useStatements(service: Service, idempotencyKey: string) {
  const remark = { text: 'x', noteId: 1 }
  await createNote(service)
  await post(service, 'remarks', remark)
  await post(service, 'remarks', remark, { 'idempotency-key': idempotencyKey })
  await post(service, 'remarks', remark, { 'idempotency-key': 'repeated' })
  await get(service, 'remarks')
  await get(service, 'notes/1')
}

/** The plan of a prepared statement, as text. */
async function planOf({ database }: Service, execution: string) {
  const text = `EXPLAIN EXECUTE ${execution}`
  return JSON.stringify(await database.read({ text }))
}

t.test('PostgreSQL does not plan a statement at each execution', async (t) => {
  // With one connection, every statement is in the session that reports them.
  const config = { MAX_DATABASE_CONNECTIONS: 1 }
  const service = await startNotes(t, { config })
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
    const notesById = await planOf(service, `"notes-by-id"('[[1]]')`)
    t.notMatch(notesById, /Seq Scan on notes/)

    const createOnce = await planOf(service, `"create-remarks-once"('[]')`)
    t.notMatch(createOnce, /Seq Scan on idempotency_keys/)
  })
})
