import t from 'tap'
import { begin, query } from '../support/database.ts'
import { successes } from '../support/metrics.ts'
import { codeOrStatus, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const service = await startService(t, {
  config: { DATABASE_TIMEOUT_MS: 60_000 }
})
const { databaseUrl } = service
await query(
  databaseUrl,
  "INSERT INTO categories (name) VALUES ('Dog'), ('Cat')"
)

const create = (categoryId: number, headers = {}) =>
  codeOrStatus(post(service, 'pets', { name: 'x', categoryId }, headers))

/** How many statements have tried to create pets, and have not failed. */
const attempts = async () =>
  (await successes(service, 'createPet')) +
  (await successes(service, 'createPet-idempotent'))

for (const [end, result] of [
  ['release', 201],
  ['commit', 'unknown_category']
] as const) {
  t.test(
    `only pets of a category that is being deleted wait, for ${result} after ${end}`,
    async (t) => {
      const deletion = 'DELETE FROM pets; DELETE FROM categories WHERE id = 1'
      const other = await begin(t, databaseUrl, deletion)
      const settled: unknown[] = []
      const blocked = [{}, { 'idempotency-key': end }].map((headers) =>
        create(1, headers).finally(() => settled.push(headers))
      )

      for (let count = 0; count < 10; count++) t.equal(await create(2), 201)
      t.same(settled, [])
      const before = await attempts()
      await until(
        async () => (await attempts()) > before + 2,
        'the others are tried again, without waiting in the database'
      )
      await other[end]()
      t.same(await Promise.all(blocked), [result, result])
    }
  )
}

t.test('other roles cannot lock categories', async (t) => {
  const callable = `
    SELECT has_function_privilege('public', oid, 'EXECUTE') AS "isPublic"
    FROM pg_proc
    WHERE proname = 'check_category'
  `
  t.same(await query(databaseUrl, callable), [{ isPublic: false }])
})
