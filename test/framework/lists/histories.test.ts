import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { startHistory } from '../../support/history.ts'
import { listNotes, startNotes } from '../../support/notes.ts'
import { startPair, startPostgres } from '../../support/postgres.ts'
import { scale, seed } from '../../support/scale.ts'
import { until } from '../../support/until.ts'

// Only commits make transaction ids durable.
const settings = {
  max_prepared_transactions: '20',
  wal_writer_delay: '10s',
  autovacuum: 'off',
  fsync: 'off'
}
const postgres = await startPostgres(t, settings)

/** The value of an expression, in this PostgreSQL. */
async function valueOf(expression: string): Promise<string> {
  const [row] = await query(postgres.url, `SELECT ${expression} AS value`)
  return String(row?.['value'])
}

/** The id of the next transaction. */
const nextId = async () =>
  Number(await valueOf('pg_snapshot_xmax(pg_current_snapshot())::text'))

/** Ends 100 transactions that have ids. */
const useIds = () =>
  query(
    postgres.url,
    `DO $$
     BEGIN
       FOR n IN 1..100 LOOP
         PERFORM pg_current_xact_id();
         ROLLBACK;
       END LOOP;
     END $$`
  )

/** A client that keeps the last list, and asks whether it has changed. */
async function startClient(t: Test) {
  const service = await startNotes(t, { databaseUrl: postgres.url })
  let lastList = { etag: '', body: '' }

  const list = async () => {
    const { statusCode, headers, body } = await listNotes(service, {
      'if-none-match': lastList.etag
    })
    if (statusCode === 200) lastList = { etag: String(headers.etag), body }

    return statusCode
  }

  return { list, lastBody: () => lastList.body }
}

type Client = Awaited<ReturnType<typeof startClient>>

/** Lists. Whether PostgreSQL has not yet written the last transactions. */
async function listsBeforeFlush({ list }: Client): Promise<boolean> {
  const position = await valueOf('pg_current_wal_insert_lsn()')
  await useIds()
  await list()

  const isUnwritten = `pg_current_wal_flush_lsn() <= '${position}'`
  return (await valueOf(isUnwritten)) === 'true'
}

/**
 * Lists, loses the ids of finished transactions by a failure, and uses one of
 * them again.
 */
async function reuseIds(t: Test, fail: () => Promise<void>) {
  const client = await startClient(t)

  // Another transaction, of the service or of PostgreSQL, may make them durable
  // at the last moment.
  const losesIds = async () => {
    const isListed = () => listsBeforeFlush(client)
    await until(isListed, 'transactions are listed, and not yet durable')
    const before = await nextId()
    await fail()

    return (await nextId()) < before
  }

  await until(losesIds, 'ids are used again')
  const name = randomUUID()
  await query(postgres.url, 'INSERT INTO notes (name) VALUES ($1)', [name])
  await until(async () => (await client.list()) !== 503, 'lists work again')

  t.match(client.lastBody(), name)
}

const kills = {
  'one backend': postgres.killBackend,
  PostgreSQL: postgres.crash
}
for (const [what, fail] of Object.entries(kills)) {
  t.test(
    `a change is listed although a kill of ${what} lost the id of its transaction`,
    (t) => reuseIds(t, fail)
  )
}

t.test(
  'a transaction that was prepared before a crash is listed once it is committed',
  async (t) => {
    const service = await startNotes(t, { databaseUrl: postgres.url })
    const name = randomUUID()
    await query(
      postgres.url,
      `BEGIN;
       INSERT INTO notes (name) VALUES ('${name}');
       PREPARE TRANSACTION '${name}'`
    )

    await postgres.crash()
    const isListed = async () => (await listNotes(service)).statusCode === 200
    await until(isListed, 'lists work again')
    // What the service does from time to time.
    await query(postgres.url, 'SELECT prune_changes()')

    for (let requests = 0; requests < 2; requests++)
      t.notMatch((await listNotes(service)).body, name)

    await query(postgres.url, `COMMIT PREPARED '${name}'`)
    t.match((await listNotes(service)).body, name)
  }
)

t.test(
  `lists show what was acknowledged, through restarts and kills (seed ${seed})`,
  async (t) => {
    const history = await startHistory(t, postgres.url, seed)
    const strikes = [postgres.restart, postgres.killBackend, postgres.crash]

    for (let round = 0; round < scale(20, 1); round++) {
      for (const strike of strikes) {
        await history.commits(10)
        await strike()
      }
      await history.commits(10)
    }

    t.same(await history.stop(), [])

    const codings = ['gzip', 'br', 'identity']
    for (const result of [304, 'ROLLBACK', 'COMMIT PREPARED', ...codings])
      t.ok(history.counts[result], `${result}: ${history.counts[result]}`)
  }
)

for (let round = 0; round < scale(20, 1); round++) {
  t.test(
    `after a failover, lists show only what the standby had (seed ${seed + round})`,
    async (t) => {
      const pair = await startPair(t, settings)
      const history = await startHistory(t, pair.url, seed + round)
      await history.commits(5)

      // The standby lacks what is committed from now on.
      await pair.isolate()
      await history.commits(10)

      await pair.primary.kill()
      await history.pause()
      await pair.promote()
      await history.resume()

      // Transactions use the ids of those that are lost again.
      await history.commits(10)
      t.same(await history.stop(), [])
    }
  )
}
