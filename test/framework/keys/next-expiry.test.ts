import t from 'tap'
import { measureNextExpiry } from '../../../src/framework/keys/next-expiry.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { measured } from '../../support/metrics.ts'

/** Changes to a key in use that expires in five hours, to leave it out. */
const leftOut = [
  'expires_at = NULL',
  "expires_at = now() - interval '1 minute'",
  'revoked_at = now()',
  'last_used_at = NULL',
  "last_used_at = now() - interval '2 hours'"
]

t.test('the first expiry of the API keys in use is measured', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  measureNextExpiry(database)
  const hours = async () =>
    (await measured(database, 'api_keys_next_expiry_seconds')) / 3600
  const insert = `
    TRUNCATE api_keys CASCADE;
    INSERT INTO api_keys (name, shown_part, hash, expires_at, last_used_at)
    SELECT n, n, decode(n, 'hex'), now() + n::int * interval '1 hour', now()
    FROM unnest('{05,09}'::text[]) AS n`
  await query(url, insert)
  const first = await hours()
  t.ok(first > 4 && first <= 5)

  for (const assignment of leftOut) {
    await query(
      url,
      `${insert};
      DELETE FROM api_keys WHERE name = '09';
      UPDATE api_keys SET ${assignment}`
    )
    t.equal(await hours(), Infinity, assignment)
  }
})
