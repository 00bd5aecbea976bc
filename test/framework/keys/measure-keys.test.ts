import t, { type Test } from 'tap'
import { apiKeyMeasurer } from '../../../src/framework/keys/measure-keys.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { createKeyIn } from '../../support/service.ts'

/** Creates a key, and returns its id. */
async function createKey(url: string): Promise<unknown> {
  await createKeyIn(url)
  const [row] = await query(url, 'SELECT max(id) AS id FROM api_keys')
  return row?.['id']
}

/** Starts with a key that expires in some hours, and is in use. */
async function startWithKey(t: Test, hours: number) {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  const id = await createKey(url)

  const set = (assignment: string) =>
    query(url, `UPDATE api_keys SET ${assignment} WHERE id = $1`, [id])
  await set(
    `expires_at = now() + ${hours} * interval '1 hour', last_used_at = now()`
  )

  const measure = apiKeyMeasurer(database)
  const measured = async () => {
    await measure()
    return Number(await sample('api_keys_expiring_seconds'))
  }

  return { url, set, measured }
}

const hours = (count: number) => count * 3600

t.test('the first expiry of the keys in use is measured', async (t) => {
  const { url, measured } = await startWithKey(t, 5)
  const later = await createKey(url)
  await query(
    url,
    `UPDATE api_keys
     SET expires_at = now() + interval '9 hours', last_used_at = now()
     WHERE id = $1`,
    [later]
  )

  const seconds = await measured()
  t.ok(seconds <= hours(5))
  t.ok(seconds > hours(4))
})

for (const [state, assignment] of Object.entries({
  'never expires': 'expires_at = NULL',
  'has expired': "expires_at = now() - interval '1 minute'",
  'was revoked': 'revoked_at = now()',
  'was never used': 'last_used_at = NULL',
  'was used two days ago': "last_used_at = now() - interval '2 days'"
})) {
  t.test(`a key that ${state} is left out`, async (t) => {
    const { set, measured } = await startWithKey(t, 5)
    t.ok((await measured()) < Infinity)

    await set(assignment)
    t.equal(await measured(), Infinity)
  })
}
