import t, { type Test } from 'tap'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { startService } from '../support/service.ts'

/** Sends creates that PostgreSQL gets in one group: they gather while a first one waits for a lock on the table. */
async function startGrouping(t: Test, table: 'categories' | 'pets', first: object) {
  const databaseUrl = await createDatabase(t)
  const { app, auth } = await startService(t, { databaseUrl })
  await query(databaseUrl, `INSERT INTO categories (name) VALUES ('first')`)
  const send = async (payload: object, key?: string) => {
    const headers = key === undefined ? auth : { ...auth, 'idempotency-key': key }
    const { statusCode, headers: received } = await app.inject({
      method: 'POST',
      url: `/v1/${table}`,
      headers,
      payload
    })
    return received['idempotent-replayed'] === undefined ? statusCode : `${statusCode} replayed`
  }
  return {
    databaseUrl,
    send,
    sendGroup: async (group: { payload: object; key?: string }[]) => {
      const lock = await lockTable(t, databaseUrl, table)
      const leader = send(first)
      await lockAwaited(databaseUrl)
      const results = Promise.all(group.map(({ payload, key }) => send(payload, key)))
      await lock.release()
      t.equal(await leader, 201)
      return results
    }
  }
}

t.test(
  'in a group with and without keys, a create that PostgreSQL rejects fails alone, and its key creates later',
  async (t) => {
    const { databaseUrl, send, sendGroup } = await startGrouping(t, 'categories', { name: 'leader' })
    for (const [moment, constraint] of [
      ['in the statement', `CHECK (name NOT LIKE 'bad%')`],
      ['at the commit', `UNIQUE (description) DEFERRABLE INITIALLY DEFERRED`]
    ] as const) {
      await query(databaseUrl, `TRUNCATE categories CASCADE; ALTER TABLE categories ADD CONSTRAINT good ${constraint}`)
      await query(databaseUrl, `INSERT INTO categories (name, description) VALUES ('good', 'taken')`)
      const group = Array.from({ length: 40 }, (_, index) => {
        const isBad = index % 10 === 3 || index % 10 === 6
        const payload = isBad ? { name: `bad ${index}`, description: 'taken' } : { name: `good ${index}` }
        return { isBad, payload, ...(index % 2 === 0 ? {} : { key: `${moment.replaceAll(' ', '-')}-${index}` }) }
      })
      t.same(
        await sendGroup(group),
        group.map(({ isBad }) => (isBad ? 500 : 201)),
        moment
      )
      await query(databaseUrl, 'ALTER TABLE categories DROP CONSTRAINT good')
      for (const { isBad, payload, key } of group) {
        if (key !== undefined) t.equal(await send(payload, key), isBad ? 201 : '201 replayed', `${moment}: ${key}`)
      }
      // The first row, the leader, 32 good creates, and 4 bad ones with keys.
      t.equal((await query(databaseUrl, 'SELECT FROM categories')).length, 1 + 1 + 32 + 4)
    }
  }
)

t.test(
  'in a group with and without keys, a pet of an unknown category fails alone, and its key creates later',
  async (t) => {
    const { databaseUrl, send, sendGroup } = await startGrouping(t, 'pets', { name: 'leader', categoryId: 1 })
    const group = Array.from({ length: 40 }, (_, index) => {
      const isKnown = index % 5 !== 2
      const payload = { name: `pet ${index}`, categoryId: isKnown ? 1 : 2 }
      return { isKnown, payload, ...(index % 2 === 0 ? {} : { key: `key-${index}` }) }
    })
    t.same(
      await sendGroup(group),
      group.map(({ isKnown }) => (isKnown ? 201 : 400))
    )
    t.equal((await query(databaseUrl, 'SELECT FROM pets')).length, 1 + 32)
    await query(databaseUrl, `INSERT INTO categories (name) VALUES ('second')`)
    for (const { isKnown, payload, key } of group) {
      if (key !== undefined) t.equal(await send(payload, key), isKnown ? '201 replayed' : 201, key)
    }
    t.equal((await query(databaseUrl, 'SELECT FROM pets')).length, 1 + 32 + 4)
  }
)

t.test('of creates with one key in one group, one is stored, and others with its body are replays of it', async (t) => {
  const { databaseUrl, sendGroup } = await startGrouping(t, 'categories', { name: 'leader' })
  const a = { payload: { name: 'a' }, key: 'one' }
  const results = await sendGroup([
    a,
    a,
    { payload: { name: 'b' }, key: 'one' },
    { payload: { name: 'b' }, key: 'two' },
    a
  ])
  t.same(results, [201, '201 replayed', 422, 201, '201 replayed'])
  t.match(await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'), [
    { name: 'first' },
    { name: 'leader' },
    { name: 'a' },
    { name: 'b' }
  ])
})
