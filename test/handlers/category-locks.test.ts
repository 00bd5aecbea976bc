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

const create = (categoryId: number, key?: string) =>
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
    const { commit } = await begin(t, databaseUrl, lock)
    const settled: unknown[] = []
    const blocked = ['dog-1', 'dog-2', undefined].map((key) =>
      create(1, key).finally(() => settled.push(key))
    )

    const others = Array.from({ length: 20 }, (_, index) =>
      create(2, index % 2 ? `key-${index}` : undefined)
    )
    t.same(new Set(await Promise.all(others)), new Set([201]))
    t.same(settled, [])

    await commit()
    t.same(await Promise.all(blocked), [201, 201, 201])
  }
)

for (const [end, result] of [
  ['release', 201],
  ['commit', 'unknown_category']
] as const) {
  t.test(
    `a pet whose category is deleted meanwhile gets ${result} after ${end}`,
    async (t) => {
      const attempts = async () =>
        (await successes(service, 'createPet')) +
        (await successes(service, 'createPet-idempotent'))
      const before = await attempts()
      const deletion = 'DELETE FROM pets; DELETE FROM categories WHERE id = 1'
      const other = await begin(t, databaseUrl, deletion)
      const creates = [create(1), create(1, end)]

      await until(
        async () => (await attempts()) > before + 2,
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
  t.same(await query(databaseUrl, callable), [{ isPublic: false }])
})
