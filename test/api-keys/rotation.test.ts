import pg from 'pg'
import t, { type Test } from 'tap'
import { keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { until } from '../support/until.ts'

const day = 86_400

/** A key store on an empty database. */
async function keys(t: Test) {
  const url = await createDatabase(t)
  const database = openDatabase({ url, poolSize: 4, timeout: 60_000 }, silent)
  t.teardown(() => database.close())
  /** The lifetime of each key in seconds. */
  const lifetimes = async () =>
    (await query(url, 'SELECT extract(epoch FROM expires_at - created_at)::int AS s FROM api_keys ORDER BY id')).map(
      ({ s }) => s
    )
  return { url, store: keyStore(database), lifetimes }
}

t.test('every successor has the lifetime of the first key, until a rotation sets another', async (t) => {
  const { store, lifetimes } = await keys(t)
  await store.create('a team', '90d')
  for (const [id, lifetime] of [['1'], ['2'], ['3', '7d'], ['4']] as const) await store.rotate(id, '24h', lifetime)
  t.same(await lifetimes(), [day, day, day, day, 7 * day])
  await store.create('a team', '60s')
  await store.rotate('6', '24h')
  t.same((await lifetimes()).slice(5), [60, 60], 'the overlap does not extend a short life')
})

t.test('of concurrent rotations of one key, one succeeds', async (t) => {
  const { url, store } = await keys(t)
  await store.create('a team')
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query('BEGIN; UPDATE api_keys SET last_used_at = now()')
  const rotations = Promise.allSettled([1, 2, 3].map(() => store.rotate('1', '24h')))
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  await until(async () => (await query(url, waiting)).length === 3, 'all have seen the key as it was')
  await holder.query('COMMIT')
  t.same((await rotations).map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
  t.match(await store.list(), [{ replaced_by: '2' }, { replaced_by: null, expires_at: null }])
  await store.revoke('2')
  for (const id of ['1', '2', '99', 'x']) {
    await t.rejects(store.rotate(id, '24h'), { message: `Key ${id} is not valid or has been replaced; see: keys list` })
  }
  t.same(
    (await store.events()).map((event) => [event['event'], event['key_id']]),
    [
      ['created', '1'],
      ['rotated', '1'],
      ['created', '2'],
      ['revoked', '2']
    ]
  )
})

t.test('the last use of a key is never listed as earlier than its creation', async (t) => {
  const { store } = await keys(t)
  await store.create('a team')
  t.match(await store.list(), [{ last_used_at: null }])
  await store.noteUse([{ id: 1n, state: 'valid' }])
  const [key] = await store.list()
  t.same(key?.['last_used_at'], key?.['created_at'])
})
