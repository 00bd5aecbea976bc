import t, { type Test } from 'tap'
import { begin, createDatabase, query } from '../support/database.ts'
import { successes } from '../support/metrics.ts'
import { codeOrStatus, post } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/**
 * A service with the categories 1 and 2, the first of which another transaction
 * locks by a statement.
 */
async function start(t: Test, statement: string) {
  const config = { DATABASE_TIMEOUT_MS: 60_000 }
  const service = await startService(t, { config })
  await query(
    service.databaseUrl,
    "INSERT INTO categories (name) VALUES ('Dog'), ('Cat')"
  )
  const other = await begin(t, service.databaseUrl, statement)

  return { service, ...other }
}

const create = (service: Service, categoryId: number, key?: string) =>
  codeOrStatus(
    post(
      service,
      'pets',
      { name: 'x', categoryId },
      key === undefined ? {} : { 'idempotency-key': key }
    )
  )

const lock = 'SELECT FROM categories WHERE id = 1 FOR UPDATE'

t.test(
  'creates of other categories do not wait for one that is locked',
  async (t) => {
    const { service, commit } = await start(t, lock)
    const settled: unknown[] = []
    const blocked = ['dog-1', 'dog-2', undefined].map((key) =>
      create(service, 1, key).finally(() => settled.push(key))
    )

    const others = Array.from({ length: 20 }, (_, index) =>
      create(service, 2, index % 2 ? `key-${index}` : undefined)
    )
    t.same(new Set(await Promise.all(others)), new Set([201]))
    t.same(settled, [])

    await commit()
    t.same(await Promise.all(blocked), [201, 201, 201])
  }
)

for (const [end, result] of [
  ['commit', 'unknown_category'],
  ['release', 201]
] as const) {
  t.test(
    `a pet whose category is deleted meanwhile gets ${result} after ${end}`,
    async (t) => {
      const deletion = 'DELETE FROM categories WHERE id = 1'
      const { service, ...other } = await start(t, deletion)
      const creates = [create(service, 1), create(service, 1, 'key')]

      await until(
        async () =>
          (await successes(service, 'createPet')) +
            (await successes(service, 'createPet-idempotent')) >
          2,
        'both creates have met the deletion'
      )
      await other[end]()

      t.same(await Promise.all(creates), [result, result])
    }
  )
}

t.test('other roles cannot lock categories', async (t) => {
  const callable = `
    SELECT has_function_privilege('public', oid, 'EXECUTE') AS "isPublic"
    FROM pg_proc
    WHERE proname = 'check_category'
  `
  t.same(await query(await createDatabase(t), callable), [{ isPublic: false }])
})
