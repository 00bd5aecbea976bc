import t, { type Test } from 'tap'
import {
  expiredKeysRemover,
  removeExpiredIdempotencyKeys
} from '../../../src/framework/creates/expired-idempotency-keys.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import {
  begin,
  createDatabase,
  holdKeys,
  openDatabase,
  query,
  silent
} from '../../support/database.ts'
import { CreateHistoryChecker } from '../../support/create-history-checker.ts'
import { sample } from '../../support/metrics.ts'
import { startNotes, storedNames, storedNotes } from '../../support/notes.ts'
import {
  createKeyed,
  createUntilStored,
  type Endpoint
} from '../../support/resend.ts'
import { recorder } from '../../support/recorder.ts'
import { scale } from '../../support/scale.ts'
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

const pairs = scale(10_000, 300)
/** Pairs of requests that are sent at the same time. */
const pairsPerRound = 50

t.test(
  `of two requests with one idempotency key, one creates: ${pairs} times`,
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t)
    const creates = new CreateHistoryChecker()
    const recordCreate = async (replica: Endpoint, name: string) =>
      creates.record(name, await createUntilStored(() => replica, name))

    for (let done = 0; done < pairs; done += pairsPerRound) {
      const names = Array.from(
        { length: pairsPerRound },
        (_, index) => `key-${done + index}`
      )
      // In opposite orders: statements that claimed keys one by one would
      // deadlock.
      await Promise.all([
        ...names.map((name) => recordCreate(first, name)),
        ...names.toReversed().map((name) => recordCreate(second, name))
      ])
    }

    t.equal(creates.size, pairs)
    t.same(creates.check(await storedNotes(databaseUrl)), [])
  }
)

t.test(
  'an idempotency key belongs to an API key, and to its successors',
  async (t) => {
    const { first, second, otherKey, databaseUrl } = await startReplicas(t)
    const original = await createKeyed(first, 'one', 'name')
    const other = { ...first, key: otherKey }
    const otherOriginal = await createKeyed(other, 'one', 'other')
    t.match(otherOriginal, { status: 201, body: /"other"/, isReplayed: false })

    // The API key with the id 2 is that of the other client.
    const keys = [
      first.key,
      await first.keys.rotate('1', '24h'),
      await first.keys.rotate('3', '24h')
    ]
    for (const { url } of [first, second]) {
      for (const key of keys) {
        const replay = await createKeyed({ url, key }, 'one', 'name')
        t.same(replay, { ...original, isReplayed: true })
      }
      const replay = await createKeyed({ url, key: otherKey }, 'one', 'other')
      t.same(replay, { ...otherOriginal, isReplayed: true })
    }
    t.same(await storedNames(databaseUrl), ['name', 'other'])
  }
)

t.test('other creates do not wait for a key that is held', async (t) => {
  const { first, second, databaseUrl } = await startReplicas(t, {
    DATABASE_TIMEOUT_MS: 60_000
  })
  await createKeyed(first, 'held', 'held')
  const { release } = await holdKeys(t, databaseUrl)
  const settled: string[] = []
  const createOutcome = async (replica: Endpoint, name: string) => {
    const { status, isReplayed } = await createKeyed(replica, name, name)
    settled.push(name)
    return isReplayed ? `${status} replayed` : status
  }
  const held = Promise.all([
    createOutcome(first, 'held'),
    createOutcome(second, 'held')
  ])

  for (let round = 0; round < 5; round++) {
    const others = Array.from({ length: 20 }, (_, index) =>
      createOutcome(index % 2 === 0 ? second : first, `${round}-${index}`)
    )
    t.same(new Set(await Promise.all(others)), new Set([201]))
  }
  t.notOk(settled.includes('held'))

  await release()
  t.same((await held).sort(), [201, '201 replayed'])
  t.equal((await storedNames(databaseUrl)).length, 102)
})

t.test('a create whose key is held for too long is a 409', async (t) => {
  const { first, second, databaseUrl } = await startReplicas(t, {
    DATABASE_TIMEOUT_MS: 2000
  })
  await createKeyed(first, 'held', 'held')

  const { release } = await holdKeys(t, databaseUrl)
  const rejected = await createKeyed(second, 'held', 'held')
  t.match(rejected, { status: 409, body: /idempotency_key_in_use/ })

  await release()
  const stored = await createKeyed(second, 'held', 'held')
  t.match(stored, { status: 201, isReplayed: false })

  const replay = await createKeyed(first, 'held', 'held')
  t.match(replay, { status: 201, isReplayed: true })
  t.equal((await storedNames(databaseUrl)).length, 2)
})

t.test(
  'a create is tried again if another replica records its key first',
  async (t) => {
    const { first, databaseUrl } = await startReplicas(t)
    await query(
      databaseUrl,
      `CREATE SEQUENCE attempts;
       CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF nextval('attempts') > 2 THEN RETURN NEW; END IF;
         RAISE unique_violation USING CONSTRAINT = 'idempotency_keys_pkey';
       END $$;
       CREATE TRIGGER lose BEFORE INSERT ON idempotency_keys
         FOR EACH ROW EXECUTE FUNCTION lose()`
    )
    const stored = await createKeyed(first, 'key', 'name')
    t.match(stored, { status: 201, isReplayed: false })
  }
)

/** Commits take longer than the lock_timeout, once for each transaction. */
const slowCommits = `
  CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF current_setting('test.is_slow', true) IS DISTINCT FROM 'yes' THEN
      PERFORM set_config('test.is_slow', 'yes', true);
      PERFORM pg_sleep(0.4);
    END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON notes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`

/** What rejects the second create of a name, as soon as the first commits. */
const rejections = {
  'a unique index': 'CREATE UNIQUE INDEX ON notes (name)',
  'an exclusion constraint':
    'ALTER TABLE notes ADD EXCLUDE USING btree (name WITH =)',
  'a trigger': `
    CREATE FUNCTION check_name() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM notes WHERE name = NEW.name AND id <> NEW.id) THEN
        RAISE 'the name is in use';
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER a_check AFTER INSERT ON notes
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_name();
    CREATE UNIQUE INDEX ON notes (name)`
}

for (const [rejection, statement] of Object.entries(rejections)) {
  t.test(
    `a create is not rejected for its row on another replica: ${rejection}`,
    async (t) => {
      const { first, second, databaseUrl } = await startReplicas(t)
      await query(databaseUrl, `${slowCommits}; ${statement}`)
      for (let pair = 0; pair < 40; pair++) {
        const name = `name-${pair}`
        const [one, other] = await Promise.all(
          [first, second].map((replica) => createKeyed(replica, name, name))
        )
        t.match([one, other], [{ status: 201 }, { status: 201 }])
        t.equal(one?.body, other?.body)
      }
      t.equal((await storedNames(databaseUrl)).length, 40)

      const taken = await createKeyed(first, 'another', 'name-0')
      t.equal(taken.status, 500, 'another create of the name is rejected')
    }
  )
}

const expired = "now() - interval '25 hours'"

/** Removes expired keys as replicas do, until the test ends. */
function remove(t: Test, { database }: { database: Database }): void {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  removeExpiredIdempotencyKeys(database, silent, stop.signal).catch(() => {})
}

/** Resolves when the database has so many keys. */
const keysLeft = (url: string, count: number) =>
  until(async () => {
    const keys = await query(url, 'SELECT FROM idempotency_keys')
    return keys.length === count
  }, `${count} keys are left`)

t.test('an expired key replays until it is removed', async (t) => {
  const { first, databaseUrl } = await startReplicas(t)
  const create = (name: string) => createKeyed(first, name, name)
  const old = await create('old')
  await query(
    databaseUrl,
    `UPDATE idempotency_keys SET created_at = ${expired}`
  )
  const fresh = await create('fresh')
  t.same(await create('old'), { ...old, isReplayed: true })

  remove(t, first)
  await keysLeft(databaseUrl, 1)
  t.match(await create('old'), { status: 201, isReplayed: false })
  t.same(await create('fresh'), { ...fresh, isReplayed: true })
})

t.test('replicas remove expired keys together, in batches', async (t) => {
  const { first, second, databaseUrl } = await startReplicas(t)
  const replicas = [first, second]
  await query(
    databaseUrl,
    `INSERT INTO idempotency_keys
     SELECT sha256(n::text::bytea), '', '', ${expired}
     FROM generate_series(1, 2500) AS n`
  )
  for (const replica of replicas) remove(t, replica)
  await keysLeft(databaseUrl, 0)

  const task =
    'housekeeping_last_success_timestamp_seconds{task="idempotency_keys"}'
  for (const { database } of replicas)
    t.ok(Number(await sample(database, task)) > 0)
})

t.test('a removal begins where the last one ended', async (t) => {
  const url = await createDatabase(t)
  const removeOnce = expiredKeysRemover(openDatabase(t, url))
  /** Runs it so many times. Returns the number of keys that are left. */
  async function keysAfter(runs: number): Promise<number> {
    for (let run = 0; run < runs; run++)
      await removeOnce(new AbortController().signal)
    return (await query(url, 'SELECT FROM idempotency_keys')).length
  }
  const add = (age: string) =>
    query(
      url,
      `INSERT INTO idempotency_keys
       SELECT sha256('${age}'), '', '', now() - interval '${age}'`
    )

  await add('25 hours')
  const other = await begin(
    t,
    url,
    "SELECT pg_advisory_xact_lock('idempotency_keys'::regclass::bigint)"
  )
  t.equal(await keysAfter(1), 1, 'another replica deletes')
  await other.release()
  t.equal(await keysAfter(1), 0)

  await add('26 hours')
  t.equal(await keysAfter(718), 1, 'it is older than what was deleted')
  t.equal(await keysAfter(1), 0, 'once an hour, the oldest key is first')
})

t.test('a removal that fails is logged, and goes on', async (t) => {
  const url = await createDatabase(t)
  await query(url, 'ALTER TABLE idempotency_keys RENAME TO other')
  const { lines, log } = recorder()
  const stop = new AbortController()
  const removal = removeExpiredIdempotencyKeys(
    openDatabase(t, url),
    log,
    stop.signal
  )
  const line = await until(() => lines[0], 'the log has the failure')
  t.match(line, { msg: 'expired Idempotency-Keys cannot be removed' })
  stop.abort()
  await removal
})
