import { readFileSync } from 'node:fs'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/postgres/database.ts'
import { createKey, rotateKey } from '../../src/api-keys/issue.ts'
import { keyStore } from '../../src/api-keys/store.ts'
import { createDatabase, query, silent } from '../support/database.ts'

const day = 86_400

/** A key store on an empty database, and what an operator does with it. */
async function keys(t: Test) {
  const url = await createDatabase(t)
  const database = openDatabase({ url, poolSize: 4, timeout: 5000 }, silent)
  t.teardown(() => database.close())
  const store = keyStore(database)
  return {
    url,
    store,
    create: (lifetime?: number) => createKey(store, { name: 'a team', lifetime, command: 'create' }),
    rotate: (id: bigint, lifetime?: number) => rotateKey(store, { id, lifetime, overlap: day, command: 'rotate' }),
    /** The lifetime of each key in seconds. */
    lifetimes: async () =>
      (await query(url, 'SELECT extract(epoch FROM expires_at - created_at)::int AS s FROM api_keys ORDER BY id')).map(
        ({ s }) => s
      )
  }
}

t.test(
  'a key that is already replaced is not rotated again, and its successor lives as long as it was to',
  async (t) => {
    const { create, rotate, lifetimes, store } = await keys(t)
    await create()
    await rotate(1n)
    const message = 'Key 1 is already replaced by key 2: rotate that one; see: keys list'
    await t.rejects(rotate(1n), { message })
    t.same(await lifetimes(), [day, null])
    await store.revoke(1n, 'revoke')
    await t.rejects(rotate(1n), { message })
    await t.rejects(rotate(99n), { message: 'There is no valid key with the id 99; see: keys list' })
    t.match(await store.list(), [
      { id: 1n, state: 'revoked', replaced_by: 2n },
      { id: 2n, state: 'valid', replaced_by: null }
    ])
  }
)

t.test('every successor has the lifetime of the first key, until a rotation gives another', async (t) => {
  const { create, rotate, lifetimes } = await keys(t)
  await create(90 * day)
  await rotate(1n)
  await rotate(2n)
  await rotate(3n, 7 * day)
  await rotate(4n)
  t.same(await lifetimes(), [day, day, day, day, 7 * day])
  await create(60)
  await rotate(6n)
  t.same((await lifetimes()).slice(5), [60, 60], 'the overlap does not lengthen a short life')
})

t.test('of rotations of one key at the same time, one succeeds', async (t) => {
  const { url, create, rotate, store } = await keys(t)
  await create()
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query('BEGIN')
  await holder.query('UPDATE api_keys SET last_used_at = now()')
  const rotations = Promise.allSettled([rotate(1n), rotate(1n), rotate(1n)])
  // All of them have seen the key as it was.
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  for (let attempt = 0; attempt < 1000 && (await query(url, waiting)).length < 3; attempt++);
  await holder.query('COMMIT')
  const results = await rotations
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const result of results) {
    if (result.status === 'rejected') t.match(result.reason, { message: /^Key 1 is already replaced by key 2/ })
  }
  t.match(await store.list(), [{ replaced_by: 2n }, { replaced_by: null, expires_at: null }])
  t.same(
    (await store.events()).map(({ event, key_id }) => [event, key_id]),
    [
      ['created', 1n],
      ['rotated', 1n],
      ['created', 2n]
    ]
  )
})

t.test('the migration fills in the successors of keys that were rotated before it', async (t) => {
  const { url, create, store } = await keys(t)
  for (let id = 1; id <= 6; id++) await create()
  await query(url, 'ALTER TABLE api_keys DROP COLUMN replaced_by')
  await query(
    url,
    `UPDATE key_events SET at = '2026-01-01', command = 'keys rotate 1' WHERE key_id = 3;
     UPDATE key_events SET at = '2026-01-02', command = 'keys rotate 1' WHERE key_id = 4;
     UPDATE key_events SET at = '2026-01-02', command = 'keys rotate 2' WHERE key_id = 5;
     INSERT INTO key_events (key_id, event, command, at) VALUES
       (1, 'rotated', 'keys rotate 1', '2026-01-01'), (1, 'rotated', 'keys rotate 1', '2026-01-02'),
       (2, 'rotated', 'keys rotate 2', '2026-01-02'), (6, 'revoked', 'keys revoke 6', '2026-01-02')`
  )
  await query(url, readFileSync(new URL('../../migrations/0005_key_rotation.sql', import.meta.url), 'utf8'))
  t.same(
    (await store.list()).map(({ replaced_by }) => replaced_by),
    [3n, 5n, null, null, null, null]
  )
})

t.test('the last use of a key is never listed as earlier than its creation', async (t) => {
  const { create, store } = await keys(t)
  await create()
  t.match(await store.list(), [{ last_used_at: null }])
  await store.noteUse([1n])
  const [key] = await store.list()
  t.same(key?.last_used_at, key?.created_at)
})
