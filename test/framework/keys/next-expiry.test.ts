import t from 'tap'
import { measureNextExpiry } from '../../../src/framework/keys/next-expiry.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { measured } from '../../support/metrics.ts'

t.test('the first expiry of the API keys in use is measured', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  measureNextExpiry(database)
  const hours = async () =>
    (await measured(database, 'api_keys_next_expiry_seconds')) / 3600
  t.equal(await hours(), Infinity)

  // Each is left out for what its name says.
  await query(
    url,
    `INSERT INTO api_keys
       (name, shown_part, hash, expires_at, revoked_at, last_used_at)
     SELECT
       name, name, name::bytea, now() + expires, now() + revoked, now() + used
     FROM (VALUES
       ('expired', interval '-1 hour', NULL::interval, interval '0'),
       ('revoked', '1 hour', '0', '0'),
       ('unused', '1 hour', NULL, NULL),
       ('not used lately', '1 hour', NULL, '-2 hours'),
       ('first', '5 hours', NULL, '0'),
       ('second', '9 hours', NULL, '0')
     ) AS key (name, expires, revoked, used)`
  )
  const first = await hours()
  t.ok(first > 4 && first <= 5)
})
