import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { startHistory } from '../support/history.ts'
import { startPair, startPostgres } from '../support/postgres.ts'
import { scale, seed } from '../support/scale.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

// Only commits make transaction ids durable.
const settings = { max_prepared_transactions: '20', wal_writer_delay: '10s', autovacuum: 'off', fsync: 'off' }
const postgres = await startPostgres(t, settings)

async function killServer() {
  await postgres.kill()
  await postgres.start()
}

const burn = 'DO $$BEGIN FOR n IN 1..100 LOOP PERFORM pg_current_xact_id(); ROLLBACK; END LOOP; END$$'

/** Lists, loses the ids of finished transactions by this failure, and uses one of them again. */
async function reuseIds(t: Test, url: string, fail: () => Promise<void>, prepare = () => Promise.resolve()) {
  const { app, auth } = await startService(t, { databaseUrl: url })
  await prepare()
  const select = async (what: string) => String((await query(url, `SELECT ${what} AS value`))[0]?.['value'])
  const nextId = async () => Number(await select('pg_snapshot_xmax(pg_current_snapshot())::text'))
  let [etag, body] = ['', '']
  const list = async () => {
    const response = await app.inject({ url: '/v1/categories', headers: { ...auth, 'if-none-match': etag } })
    if (response.statusCode === 200) [etag, body] = [String(response.headers.etag), response.body]
    return response.statusCode
  }
  const lose = async () => {
    const written = await select('pg_current_wal_insert_lsn()')
    await query(url, burn)
    await list()
    return (await select(`pg_current_wal_flush_lsn() <= '${written}'`)) === 'true'
  }
  // Another transaction, of the service or of PostgreSQL, may make them durable at the last moment.
  const failAfterLists = async () => {
    await until(lose, 'PostgreSQL has listed, and not yet written their end')
    const before = await nextId()
    await fail()
    return (await nextId()) < before
  }
  await until(failAfterLists, 'ids are used again')
  const name = randomUUID()
  await query(url, 'INSERT INTO categories (name) VALUES ($1)', [name])
  await until(async () => (await list()) !== 503, 'lists work again')
  t.match(body, name)
}

for (const [what, fail] of [
  ['a kill of one backend', postgres.killBackend],
  ['a kill of PostgreSQL', killServer]
] as const) {
  t.test(`a change is listed although its transaction has an id that was lost by ${what}`, (t) =>
    reuseIds(t, postgres.url, fail)
  )
}

t.test('a change is listed although its transaction has an id that was lost by a failover', async (t) => {
  const pair = await startPair(t, settings)
  const failOver = async () => {
    await pair.kill()
    await pair.promote()
  }
  await reuseIds(t, pair.url, failOver, pair.isolate)
})

t.test('a transaction that was prepared before a crash is listed once it is committed', async (t) => {
  const { app, auth } = await startService(t, { databaseUrl: postgres.url })
  const list = () => app.inject({ url: '/v1/categories', headers: auth })
  const name = randomUUID()
  await query(postgres.url, `BEGIN; INSERT INTO categories (name) VALUES ('${name}'); PREPARE TRANSACTION '${name}'`)
  await killServer()
  await until(async () => (await list()).statusCode === 200, 'lists work again')
  // What the service does from time to time.
  await query(postgres.url, 'SELECT prune_changes()')
  for (let requests = 0; requests < 2; requests++) t.notMatch((await list()).body, name)
  await query(postgres.url, `COMMIT PREPARED '${name}'`)
  t.match((await list()).body, name)
})

t.test('a change of the columns, or of a table that inherits, is in the next list', async (t) => {
  const service = await startService(t)
  const { app, auth, databaseUrl } = service
  const list = async () => (await app.inject({ url: '/v1/categories', headers: auth })).body
  await query(databaseUrl, "INSERT INTO categories (name) VALUES ('a')")
  for (const [sql, expected] of [
    [
      "ALTER TABLE categories DROP description, ADD description text DEFAULT 'b'",
      '[{"id":1,"name":"a","description":"b"}]'
    ],
    [
      `ALTER TABLE categories RENAME name TO other; ALTER TABLE categories RENAME description TO name;
       ALTER TABLE categories RENAME other TO description`,
      '[{"id":1,"name":"b","description":"a"}]'
    ],
    [
      "CREATE TABLE child () INHERITS (categories); INSERT INTO child VALUES (2, 'c', 'd')",
      '[{"id":1,"name":"b","description":"a"},{"id":2,"name":"d","description":"c"}]'
    ],
    ['DROP TABLE child', '[{"id":1,"name":"b","description":"a"}]']
  ] as const) {
    await list()
    await query(databaseUrl, sql)
    // The first request may find that a prepared statement is outdated.
    await until(async () => (await list()).startsWith('['), 'lists work')
    t.equal(await list(), expected, sql)
  }
})

for (const [what, strike] of [
  ['nothing else happens', () => Promise.resolve()],
  ['PostgreSQL restarts', postgres.restart],
  ['a backend of PostgreSQL is killed', postgres.killBackend],
  ['PostgreSQL is killed', killServer]
] as const) {
  t.test(`lists show all that was acknowledged and nothing else, while ${what} (seed ${seed})`, async (t) => {
    const history = await startHistory(t, postgres.url, seed)
    for (let round = 0; round < scale(20, 1); round++) {
      await history.commits(10)
      await strike()
      await history.commits(10)
    }
    t.same(await history.stop(), [])
    for (const result of [304, 'gzip', 'br', 'identity', 'ROLLBACK', 'COMMIT PREPARED']) {
      t.ok(history.counts[result], `${result}: ${history.counts[result]}`)
    }
  })
}

for (let round = 0; round < scale(20, 1); round++) {
  t.test(`after a failover no list shows what the standby never received (seed ${seed + round})`, async (t) => {
    const pair = await startPair(t, settings)
    const history = await startHistory(t, pair.url, seed + round)
    await history.commits(5)
    await pair.isolate()
    await history.commits(10)
    await pair.kill()
    await history.pause()
    await pair.promote()
    await history.resume()
    // Transactions use the ids of those that are lost again.
    await history.commits(10)
    t.same(await history.stop(), [])
  })
}
