import t, { type Test } from 'tap'
import { keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, holdKeys, query, silent } from '../support/database.ts'
import { createKeyed, Creates, createUntilStored, type Target } from '../support/resend.ts'
import { scale } from '../support/scale.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Two replicas on one database, as one client sees them, with the API key of another client. */
async function startReplicas(t: Test, config = {}) {
  const databaseUrl = await createDatabase(t)
  const options = { databaseUrl, config }
  const first = await startService(t, options)
  const second = await startService(t, options)
  const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 60_000 }, silent)
  t.teardown(() => database.close())
  const rows = () => query(databaseUrl, 'SELECT id, name FROM categories ORDER BY id')
  return {
    first,
    second: { ...second, key: first.key },
    other: second.key,
    databaseUrl,
    store: keyStore(database),
    rows
  }
}

const keys = scale(10_000, 300)
const atOnce = 50

t.test(`of two requests with one key, sent to two replicas at once, one creates: ${keys} times`, async (t) => {
  const { first, second, rows } = await startReplicas(t)
  const creates = new Creates()
  for (let done = 0; done < keys; done += atOnce) {
    const names = Array.from({ length: atOnce }, (_, index) => `key-${done + index}`)
    // In opposite orders, in which statements that claimed keys one by one would deadlock.
    const all = [
      ...names.map((name) => ({ ...first, name })),
      ...names.toReversed().map((name) => ({ ...second, name }))
    ]
    const outcomes = await Promise.all(all.map(({ name, ...replica }) => createUntilStored(() => replica, name, name)))
    outcomes.forEach((outcome, index) => creates.record(String(all[index]?.name), outcome))
    t.equal(outcomes.filter(({ isReplayed }) => isReplayed).length, atOnce)
  }
  t.equal(creates.size, keys)
  t.same(creates.check(await rows()), [])
})

t.test('an Idempotency-Key belongs to an API key and its successors, on every replica', async (t) => {
  const { first, second, other, store, rows } = await startReplicas(t)
  const original = await createKeyed(first, 'one', 'name')
  t.match(original, { status: 201, isReplayed: false })
  // The API key with the id 2 is the other client's.
  const keys = [first.key, await store.rotate('1', '24h'), await store.rotate('3', '24h')]
  for (const { url } of [first, second]) {
    for (const key of keys) t.same(await createKeyed({ url, key }, 'one', 'name'), { ...original, isReplayed: true })
    const { body, isReplayed } = await createKeyed({ url, key: other }, 'one', 'other name')
    t.match(JSON.parse(body), { name: 'other name' })
    t.equal(isReplayed, url === second.url)
  }
  t.equal((await rows()).length, 2)
})

t.test('creates with other keys do not wait for a key that another transaction holds', async (t) => {
  const { first, second, databaseUrl, rows } = await startReplicas(t, { DATABASE_TIMEOUT: 60_000 })
  await createKeyed(first, 'held', 'held')
  const { release } = await holdKeys(t, databaseUrl)
  const settled: string[] = []
  const create = async (replica: Target, name: string) => {
    const { status, isReplayed } = await createKeyed(replica, name.replace(' ', '-'), name)
    settled.push(name)
    return isReplayed ? `${status} replayed` : status
  }
  const held = Promise.all([first, second].map((replica) => create(replica, 'held')))
  for (let round = 0; round < 5; round++) {
    const others = Array.from({ length: 20 }, (_, index) => create(index % 2 ? first : second, `${round} ${index}`))
    t.same(new Set(await Promise.all(others)), new Set([201]))
  }
  t.notOk(settled.includes('held'))
  await release()
  t.same((await held).sort(), [201, '201 replayed'])
  t.equal((await rows()).length, 102)
})

t.test('a create whose key is held for longer than DATABASE_TIMEOUT is a 409, and is stored later', async (t) => {
  const { first, second, databaseUrl, rows } = await startReplicas(t, { DATABASE_TIMEOUT: 2000 })
  await createKeyed(first, 'held', 'held')
  const { release } = await holdKeys(t, databaseUrl)
  const { status, body } = await createKeyed(second, 'held', 'held')
  t.equal(status, 409)
  t.match(JSON.parse(body), { code: 'idempotency_key_in_use', status: 409 })
  await release()
  t.match(await createKeyed(second, 'held', 'held'), { status: 201, isReplayed: false })
  t.match(await createKeyed(first, 'held', 'held'), { status: 201, isReplayed: true })
  t.equal((await rows()).length, 2)
})

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
       FROM generate_series(1, 2500) AS n;
     CREATE TABLE removals (keys bigint);
     CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN INSERT INTO removals SELECT count(*) FROM removed; RETURN NULL; END$$;
     CREATE TRIGGER note_removal AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS removed
       FOR EACH STATEMENT EXECUTE FUNCTION note_removal()`
  )
  // Two replicas, which do not disturb each other.
  for (let replicas = 0; replicas < 2; replicas++) await startService(t, { databaseUrl })
  const kept = () => query(databaseUrl, 'SELECT FROM idempotency_keys')
  await until(async () => (await kept()).length === 1, 'expired keys are removed')
  const batches = await query(databaseUrl, 'SELECT keys::int FROM removals WHERE keys > 0')
  t.ok(Math.max(...batches.map(({ keys }) => Number(keys))) <= 1000)
  const again = await createKeyed(patient, 'old', 'name')
  t.match(again, { status: 201, isReplayed: false })
  t.not(again.body, first.body)
  t.same(await createKeyed(patient, 'fresh', 'name'), { ...fresh, isReplayed: true })
})
