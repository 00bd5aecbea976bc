import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { createKeyed } from '../support/resend.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('an expired key replays until it is removed, in batches, and then creates again', async (t) => {
  const databaseUrl = await createDatabase(t)
  const patient = await startService(t, { databaseUrl, config: { IDEMPOTENCY_HOURS: 8760 } })
  const first = await createKeyed(patient, 'old', 'name')
  await query(databaseUrl, `UPDATE idempotency_keys SET created_at = now() - interval '25 hours'`)
  const fresh = await createKeyed(patient, 'fresh', 'name')
  t.same(await createKeyed(patient, 'old', 'name'), { ...first, isReplayed: true })
  await query(
    databaseUrl,
    `INSERT INTO idempotency_keys SELECT sha256(n::text::bytea), '', '', now() - interval '25 hours'
       FROM generate_series(1, 25000) AS n;
     CREATE TABLE removals (keys bigint);
     CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN INSERT INTO removals SELECT count(*) FROM removed; RETURN NULL; END$$;
     CREATE TRIGGER note_removal AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS removed
       FOR EACH STATEMENT EXECUTE FUNCTION note_removal()`
  )
  // Two replicas, which do not disturb each other.
  for (const hours of [24, 24]) await startService(t, { databaseUrl, config: { IDEMPOTENCY_HOURS: hours } })
  const left = async () => (await query(databaseUrl, 'SELECT FROM idempotency_keys')).length
  await until(async () => (await left()) === 1, 'expired keys are removed')
  const batches = await query(databaseUrl, 'SELECT keys::int FROM removals WHERE keys > 0')
  t.ok(Math.max(...batches.map(({ keys }) => Number(keys))) <= 10_000)
  const again = await createKeyed(patient, 'old', 'name')
  t.match(again, { status: 201, isReplayed: false })
  t.not(again.body, first.body)
  t.same(await createKeyed(patient, 'fresh', 'name'), { ...fresh, isReplayed: true })
})
