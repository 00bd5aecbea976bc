import t, { type Test } from 'tap'
import {
  expiredKeysRemover,
  removeExpiredIdempotencyKeys
} from '../../../src/framework/creates/expired-idempotency-keys.ts'
import {
  begin,
  createDatabase,
  holdKeys,
  lockWaits,
  openDatabase,
  query
} from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { startNotes, storedNames } from '../../support/notes.ts'
import { createKeyed, type Endpoint } from '../../support/resend.ts'
import { recorder } from '../../support/recorder.ts'
import { until } from '../../support/until.ts'

/**
 * Two replicas on one database, as one client sees them, with the API key of
 * another client.
 */
async function startReplicas(t: Test, config = {}) {
  const databaseUrl = await createDatabase(t)
  const options = { databaseUrl, config }
  const first = await startNotes(t, options)
  const second = await startNotes(t, options)

  return {
    databaseUrl,
    first,
    second: { ...second, key: first.key },
    otherKey: second.key
  }
}

t.test(
  'an idempotency key belongs to an API key, and to its successors',
  async (t) => {
    const { first, otherKey } = await startReplicas(t)
    const create = (key: string) => createKeyed({ ...first, key }, 'one', 'x')
    const original = await create(first.key)
    t.match(await create(otherKey), { status: 201, isReplayed: false })

    // The API key with the id 2 is that of the other client.
    const successor = await first.keys.rotate('1', '24h')
    const last = await first.keys.rotate('3', '24h')
    for (const key of [first.key, successor, last])
      t.same(await create(key), { ...original, isReplayed: true })
  }
)

t.test(
  'a create whose key is held delays no others, and is a 409 in the end',
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t, {
      DATABASE_TIMEOUT_MS: 3000
    })
    const create = (replica: Endpoint, name: string) =>
      createKeyed(replica, name, name)
    await create(first, 'held')
    const { release } = await holdKeys(t, databaseUrl)

    const held = create(second, 'held')
    for (let other = 0; other < 5; other++)
      t.match(await create(second, `other-${other}`), { status: 201 })
    t.match(await held, { status: 409, body: /idempotency_key_in_use/ })

    await release()
    const stored = await create(second, 'held')
    t.match(stored, { status: 201, isReplayed: false })
    t.same(await create(first, 'held'), { ...stored, isReplayed: true })
  }
)

t.test(
  'a create is not rejected for its own row, which another replica commits',
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t, {
      DATABASE_TIMEOUT_MS: 60_000
    })
    await query(databaseUrl, 'CREATE UNIQUE INDEX ON notes (name)')
    const stored = await createKeyed(first, 'key', 'name')
    // As if the commit of the first replica had not ended.
    const { commit } = await begin(
      t,
      databaseUrl,
      `CREATE TEMPORARY TABLE note AS TABLE notes;
       CREATE TEMPORARY TABLE record AS TABLE idempotency_keys;
       TRUNCATE notes, idempotency_keys;
       COMMIT;
       BEGIN;
       INSERT INTO notes TABLE note;
       INSERT INTO idempotency_keys TABLE record`
    )

    const again = createKeyed(second, 'key', 'name')
    const active = 'database_connections_active{pool="singleRows"}'
    await until(
      async () =>
        (await sample(second.database, active)) === 1 &&
        (await lockWaits(databaseUrl)) === 1,
      'it waits alone'
    )
    await commit()
    t.same(await again, { ...stored, isReplayed: true })

    const taken = await createKeyed(first, 'another', 'name')
    t.equal(taken.status, 500, 'another create of the name is rejected')
    t.same(await storedNames(databaseUrl), ['name'])
  }
)

/** Stores keys of this age that no client has sent. */
const addKeys = (url: string, age: string, count = 1) =>
  query(
    url,
    `INSERT INTO idempotency_keys
     SELECT sha256(('${age}' || n)::bytea), '', '', now() - interval '${age}'
     FROM generate_series(1, ${count}) AS n`
  )

const countKeys = async (url: string) =>
  (await query(url, 'SELECT FROM idempotency_keys')).length

t.test('an expired key replays until it is removed', async (t) => {
  const service = await startNotes(t)
  const { database, databaseUrl } = service
  const create = (name: string) => createKeyed(service, name, name)
  const createdAgo = async (name: string, age: string) => {
    const response = await create(name)
    await query(
      databaseUrl,
      `UPDATE idempotency_keys SET created_at = now() - interval '${age}'
       WHERE response LIKE '%${name}%'`
    )
    return response
  }
  const old = await createdAgo('old', '25 hours')
  const valid = await createdAgo('valid', '24 hours')
  t.same(await create('old'), { ...old, isReplayed: true })

  // More than one statement deletes.
  await addKeys(databaseUrl, '26 hours', 500)
  await expiredKeysRemover(database)(new AbortController().signal)
  t.equal(await countKeys(databaseUrl), 1)
  t.match(await create('old'), { status: 201, isReplayed: false })
  t.same(await create('valid'), { ...valid, isReplayed: true })
})

t.test('a removal begins where the last one ended', async (t) => {
  const url = await createDatabase(t)
  const removeOnce = expiredKeysRemover(openDatabase(t, url))
  /** Runs it so many times. Returns the number of keys that are left. */
  async function keysAfter(runs: number): Promise<number> {
    for (let run = 0; run < runs; run++)
      await removeOnce(new AbortController().signal)
    return countKeys(url)
  }

  await addKeys(url, '25 hours')
  const other = await begin(
    t,
    url,
    "SELECT pg_advisory_xact_lock('idempotency_keys'::regclass::bigint)"
  )
  t.equal(await keysAfter(1), 1, 'another replica deletes')
  await other.release()
  t.equal(await keysAfter(1), 0)

  await addKeys(url, '26 hours')
  t.equal(await keysAfter(718), 1, 'it is older than what was deleted')
  t.equal(await keysAfter(1), 0, 'once an hour, the oldest key is first')
})

t.test('a removal that fails is logged', async (t) => {
  const url = await createDatabase(t)
  await query(url, 'ALTER TABLE idempotency_keys RENAME TO other')
  const { lines, log } = recorder()
  const stop = new AbortController()
  const database = openDatabase(t, url)
  const removal = removeExpiredIdempotencyKeys(database, log, stop.signal)
  const line = await until(() => lines[0], 'the log has the failure')
  t.match(line, { msg: 'expired Idempotency-Keys cannot be removed' })
  stop.abort()
  await removal
})
