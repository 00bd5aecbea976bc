import t, { type Test } from 'tap'
import { removeOldRecords } from '../../src/creates/remove-old-records.ts'
import { stopClock } from '../support/clock.ts'
import {
  createDatabase,
  holdKeys,
  query,
  storedNames
} from '../support/database.ts'
import { CreateHistoryChecker } from '../support/create-history-checker.ts'
import {
  createKeyed,
  createUntilStored,
  type Target
} from '../support/resend.ts'
import { scale } from '../support/scale.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Two replicas on one database, as one client sees them, with the API key of another client. */
async function startReplicas(t: Test, config = {}) {
  const databaseUrl = await createDatabase(t)
  const options = { databaseUrl, config }
  const first = await startService(t, options)
  const second = await startService(t, options)
  return {
    databaseUrl,
    first,
    second: { ...second, key: first.key },
    other: second.key
  }
}

const keys = scale(10_000, 300)
const atOnce = 50

t.test(
  `of two requests with one key, sent to two replicas at once, one creates: ${keys} times`,
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t)
    const creates = new CreateHistoryChecker()
    for (let done = 0; done < keys; done += atOnce) {
      const names = Array.from(
        { length: atOnce },
        (_, index) => `key-${done + index}`
      )
      const create = (replica: Target) => async (name: string) =>
        creates.record(name, await createUntilStored(() => replica, name, name))
      // In opposite orders, in which statements that claimed keys one by one would deadlock.
      await Promise.all([
        ...names.map(create(first)),
        ...names.toReversed().map(create(second))
      ])
    }
    t.equal(creates.size, keys)
    t.same(
      creates.check(
        await query(databaseUrl, 'SELECT id, name FROM categories')
      ),
      []
    )
  }
)

t.test(
  'an Idempotency-Key belongs to an API key and its successors, on every replica',
  async (t) => {
    const { first, second, other, databaseUrl } = await startReplicas(t)
    const original = await createKeyed(first, 'one', 'name')
    t.match(original, { status: 201, isReplayed: false })
    // The API key with the id 2 is the other client's.
    const keys = [
      first.key,
      await first.keys.rotate('1', '24h'),
      await first.keys.rotate('3', '24h')
    ]
    for (const { url } of [first, second]) {
      for (const key of keys)
        t.same(await createKeyed({ url, key }, 'one', 'name'), {
          ...original,
          isReplayed: true
        })
      const body = /"other name"/
      t.match(await createKeyed({ url, key: other }, 'one', 'other name'), {
        body,
        isReplayed: url === second.url
      })
    }
    t.same(await storedNames(databaseUrl), ['name', 'other name'])
  }
)

t.test(
  'creates with other keys do not wait for a key that another transaction holds',
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t, {
      DATABASE_TIMEOUT_MS: 60_000
    })
    await createKeyed(first, 'held', 'held')
    const { release } = await holdKeys(t, databaseUrl)
    const settled: string[] = []
    const create = async (replica: Target, name: string) => {
      const { status, isReplayed } = await createKeyed(replica, name, name)
      settled.push(name)
      return isReplayed ? `${status} replayed` : status
    }
    const held = Promise.all(
      [first, second].map((replica) => create(replica, 'held'))
    )
    for (let round = 0; round < 5; round++) {
      const others = Array.from({ length: 20 }, (_, index) =>
        create(index % 2 ? first : second, `${round}-${index}`)
      )
      t.same(new Set(await Promise.all(others)), new Set([201]))
    }
    t.notOk(settled.includes('held'))
    await release()
    t.same((await held).sort(), [201, '201 replayed'])
    t.equal((await storedNames(databaseUrl)).length, 102)
  }
)

t.test(
  'a create whose key is held for longer than DATABASE_TIMEOUT_MS is a 409, and is stored later',
  async (t) => {
    const { first, second, databaseUrl } = await startReplicas(t, {
      DATABASE_TIMEOUT_MS: 2000
    })
    await createKeyed(first, 'held', 'held')
    const { release } = await holdKeys(t, databaseUrl)
    t.match(await createKeyed(second, 'held', 'held'), {
      status: 409,
      body: /idempotency_key_in_use/
    })
    await release()
    t.match(await createKeyed(second, 'held', 'held'), {
      status: 201,
      isReplayed: false
    })
    t.match(await createKeyed(first, 'held', 'held'), {
      status: 201,
      isReplayed: true
    })
    t.equal((await storedNames(databaseUrl)).length, 2)
  }
)

t.test(
  'an expired key replays until it is removed, in batches, and then creates again',
  async (t) => {
    const clock = stopClock(t, 'setInterval')
    const databaseUrl = await createDatabase(t)
    const patient = await startService(t, {
      databaseUrl,
      config: { IDEMPOTENCY_KEY_HOURS: 8760 }
    })
    const first = await createKeyed(patient, 'old', 'name')
    await query(
      databaseUrl,
      `UPDATE idempotency_keys SET created_at = now() - interval '25 hours'`
    )
    const fresh = await createKeyed(patient, 'fresh', 'name')
    t.same(await createKeyed(patient, 'old', 'name'), {
      ...first,
      isReplayed: true
    })
    await query(
      databaseUrl,
      `INSERT INTO idempotency_keys SELECT sha256(n::text::bytea), '', '', now() - interval '25 hours'
       FROM generate_series(1, 2500) AS n;
     CREATE FUNCTION limit_batch() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN IF (SELECT count(*) FROM removed) > 1000 THEN RAISE 'too many'; END IF; RETURN NULL; END$$;
     CREATE TRIGGER limit_batch AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS removed
       FOR EACH STATEMENT EXECUTE FUNCTION limit_batch()`
    )
    // Two replicas, which do not disturb each other.
    for (let replicas = 0; replicas < 2; replicas++) {
      const { database } = await startService(t, { databaseUrl })
      t.teardown(removeOldRecords(database, 24))
    }
    await until(async () => {
      clock.pass(5000)
      return (
        (await query(databaseUrl, 'SELECT FROM idempotency_keys')).length === 1
      )
    }, 'expired keys are removed')
    t.match(await createKeyed(patient, 'old', 'name'), {
      status: 201,
      isReplayed: false
    })
    t.same(await createKeyed(patient, 'fresh', 'name'), {
      ...fresh,
      isReplayed: true
    })
  }
)
