import t, { type Test } from 'tap'
import { stopClock } from '../../support/clock.ts'
import { connect, createRoles, query } from '../../support/database.ts'
import { listNotes, startNotes } from '../../support/notes.ts'

const insert = "INSERT INTO notes (name) VALUES ('x')"
const prune = 'SELECT prune_changes()'
const watchNotes = "CALL record_changes_of('notes')"

// Only these tests prune: services do it by an interval.
stopClock(t, 'setInterval')

/** A list that has been read, and a count of how often it is read again. */
async function watchList(t: Test, databaseUrl?: string) {
  let reads = 0
  const service = await startNotes(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
    onStatement: (name) => {
      if (name === 'piece-of-notes') reads++
    }
  })
  const run = (sql: string) => query(service.databaseUrl, sql)
  const listed = async () => (await listNotes(service)).json<unknown>()

  /** Lists twice, and compares both with the table. */
  async function expectReads(count: number, reason: string) {
    const readsBefore = reads
    const rows = await run('SELECT id::int, name FROM notes ORDER BY id')
    t.strictSame(await listed(), rows, reason)
    t.strictSame(await listed(), rows, reason)
    t.equal(reads - readsBefore, count, `${count} reads: ${reason}`)
  }

  /** Runs each statement, and expects this many reads after it. */
  async function expectReadsAfter(count: number, ...statements: string[]) {
    for (const sql of statements) {
      await run(sql)
      await expectReads(count, sql)
    }
  }

  await expectReadsAfter(1, insert)

  return {
    databaseUrl: service.databaseUrl,
    run,
    expectReads,
    expectReadsAfter
  }
}

/** Starts a transaction that has an id. */
async function begin(t: Test, url: string, isolation = 'READ COMMITTED') {
  const client = await connect(t, url)
  await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
  await client.query('SELECT pg_current_xact_id()')
  return client
}

/** Records changes of other tables by a transaction that has ended. */
const recordOthers = (rows: number) =>
  `INSERT INTO changes
   SELECT coalesce(max(relation::bigint), 0) + n, '3'
   FROM generate_series(1, ${rows}) AS n
   LEFT JOIN changes ON xid = '3'
   GROUP BY n`

t.test(
  'a list follows every change by SQL, and is read once for each',
  async (t) => {
    const { expectReadsAfter } = await watchList(t)
    await expectReadsAfter(
      1,
      insert,
      "UPDATE notes SET name = 'y' WHERE id = 1",
      "SET session_replication_role = replica; UPDATE notes SET name = 'z'",
      'DELETE FROM notes WHERE id = 1',
      `BEGIN; SAVEPOINT a; ${insert}; ROLLBACK TO a; ${insert}; COMMIT`,
      'TRUNCATE notes CASCADE',
      `BEGIN;
       ALTER TABLE notes DISABLE TRIGGER ALL;
       ${insert};
       ${watchNotes};
       COMMIT`,
      "ALTER TABLE notes ALTER name TYPE text USING name || '!'",
      `ALTER TABLE notes
         DROP name,
         ADD name text NOT NULL DEFAULT 'new'`,
      'ALTER TABLE notes ADD x text; UPDATE notes SET x = id',
      `BEGIN;
       ALTER TABLE notes RENAME name TO y;
       ALTER TABLE notes RENAME x TO name;
       COMMIT`
    )
    await expectReadsAfter(
      0,
      `BEGIN; ${insert}; ROLLBACK`,
      'VACUUM ANALYZE notes'
    )
  }
)

t.test(
  'a transaction that commits late or stays open hides no change of others',
  async (t) => {
    const { expectReadsAfter, expectReads, databaseUrl } = await watchList(t)
    const early = await begin(t, databaseUrl, 'REPEATABLE READ')
    await begin(t, databaseUrl)
    await early.query(insert)
    await expectReadsAfter(1, insert)
    await expectReads(0, 'two transactions are open')

    // A pruning meanwhile neither waits nor makes it fail.
    await expectReadsAfter(1, `${recordOthers(10_000)}; ${prune}`)
    await early.query(insert)
    await early.query('COMMIT')
    await expectReads(1, 'the earlier transaction commits')
  }
)

t.test(
  'a role that may only insert is recorded, even if it hides the record',
  async (t) => {
    const { owner, service } = await createRoles(t)
    const { expectReads, run } = await watchList(t, service)
    const role = new URL(service).username
    await query(owner, `REVOKE ALL ON changes, change_epoch FROM ${role}`)
    await run(`CREATE TEMP TABLE changes (relation oid, xid xid8); ${insert}`)
    await query(owner, `GRANT SELECT ON changes, change_epoch TO ${role}`)
    await expectReads(1, 'inserted')
  }
)

t.test(
  'the record is pruned from 10,000 rows, which a list survives',
  async (t) => {
    const { run, expectReadsAfter, expectReads } = await watchList(t)
    const recorded = async () => {
      const [row] = await run('SELECT count(*)::int FROM changes')
      return row?.['count']
    }
    await run(recordOthers(9_000))
    await expectReadsAfter(0, prune)

    await run(recordOthers(1_000))
    await run(insert)
    await run(prune)
    t.equal(await recorded(), 0)
    await expectReads(1, 'changed, and pruned before the next list')

    // More than can be deleted in the time of one pruning.
    await run(recordOthers(100_100))
    await expectReadsAfter(1, prune)
    t.equal(await recorded(), 100)
  }
)

t.test(
  'rows of a restored dump, with ids that no transaction has had, cause no read',
  async (t) => {
    const { expectReadsAfter } = await watchList(t)
    await expectReadsAfter(
      0,
      "INSERT INTO changes VALUES ('notes'::regclass, '1000000000')",
      prune
    )
  }
)

t.test(
  'a change is listed although a restored dump has the id of its transaction',
  async (t) => {
    const { run, databaseUrl, expectReads } = await watchList(t)
    const writer = await begin(t, databaseUrl)
    const { rows } = await writer.query<{ id: string }>(
      'SELECT pg_current_xact_id() AS id'
    )
    await run(
      `INSERT INTO changes VALUES ('notes'::regclass, '${rows[0]?.id}')`
    )
    await writer.query(insert)
    await run(`${recordOthers(10_000)}; ${prune}`)
    await expectReads(2, 'a recorded transaction is open')

    await writer.query('COMMIT')
    await expectReads(1, 'committed')
  }
)

t.test(
  'after a crash, nothing is remembered until the record has a new epoch',
  async (t) => {
    const { expectReadsAfter } = await watchList(t)
    await expectReadsAfter(2, 'TRUNCATE changes, change_epoch')
    await expectReadsAfter(1, prune)
  }
)

t.test('a table that is replaced or restored is read again', async (t) => {
  const { expectReadsAfter } = await watchList(t)
  const createTable = `
      CREATE TABLE notes (
        id bigint PRIMARY KEY,
        name text NOT NULL,
        description text,
        size bigint,
        due_at timestamptz
      )`

  const insertRestored = "INSERT INTO notes VALUES (7, 'restored')"
  await expectReadsAfter(
    1,
    `BEGIN;
       DROP TABLE notes CASCADE;
       ${createTable};
       ${insertRestored};
       ${watchNotes};
       COMMIT`
  )
  await expectReadsAfter(
    2,
    `DROP TABLE notes CASCADE; ${createTable}`,
    insertRestored
  )
  await expectReadsAfter(1, watchNotes)
})

t.test(
  'without one of its triggers, or with a child, a table is always read',
  async (t) => {
    const { expectReadsAfter } = await watchList(t)
    await expectReadsAfter(
      2,
      'ALTER TABLE notes DISABLE TRIGGER record_change',
      'ALTER TABLE notes ENABLE ALWAYS TRIGGER record_change; ' +
        'ALTER TABLE notes DISABLE TRIGGER record_replicated_change',
      'ALTER TABLE notes ENABLE TRIGGER record_replicated_change'
    )
    await expectReadsAfter(1, watchNotes)
    await expectReadsAfter(
      2,
      'CREATE TABLE child () INHERITS (notes)',
      "INSERT INTO child VALUES (8, 'child')"
    )
  }
)
