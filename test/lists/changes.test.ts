import t, { type Test } from 'tap'
import { stopClock } from '../support/clock.ts'
import { connect, createRoles, query } from '../support/database.ts'
import { list } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const insert = "INSERT INTO categories (name) VALUES ('x')"
const prune = 'SELECT prune_changes()'

// No service prunes but by these tests.
stopClock(t, 'setInterval')

/** A service with a category that has been listed, and checks of how often the next two lists read the table. */
async function watch(t: Test, databaseUrl?: string) {
  let reads = 0
  const onStatement = (name: string) => name === 'page-of-categories' && reads++
  const service = await startService(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
    onStatement
  })
  const run = (sql: string) => query(service.databaseUrl, sql)
  const listed = async () => (await list(service)).json<unknown>()
  /** Lists twice, and compares both with the table and the number of reads. */
  const expectReads = async (count: number, what: string) => {
    const before = reads
    const rows = await run('SELECT id::int, name FROM categories ORDER BY id')
    t.strictSame([await listed(), await listed()], [rows, rows], what)
    t.equal(reads - before, count, `${count} reads: ${what}`)
  }
  /** Runs each statement, and expects so many reads after it. */
  const follow = async (count: number, ...statements: string[]) => {
    for (const sql of statements) {
      await run(sql)
      await expectReads(count, sql)
    }
  }
  await follow(1, insert)
  return { databaseUrl: service.databaseUrl, run, expectReads, follow }
}

/** Starts a transaction that has an id. */
async function begin(t: Test, url: string, isolation = 'READ COMMITTED') {
  const client = await connect(t, url)
  await client.query(
    `BEGIN ISOLATION LEVEL ${isolation}; SELECT pg_current_xact_id()`
  )
  return client
}

t.test(
  'a list follows every change by SQL, and is read once for each',
  async (t) => {
    const { follow } = await watch(t)
    await follow(
      1,
      insert,
      "UPDATE categories SET name = 'y' WHERE id = 1",
      "SET session_replication_role = replica; UPDATE categories SET name = 'z'",
      'DELETE FROM categories WHERE id = 1',
      `BEGIN; SAVEPOINT a; ${insert}; ROLLBACK TO a; ${insert}; COMMIT`,
      'TRUNCATE categories CASCADE',
      `BEGIN; ALTER TABLE categories DISABLE TRIGGER ALL; ${insert}; ALTER TABLE categories ENABLE ALWAYS TRIGGER record_change; COMMIT`,
      "ALTER TABLE categories ALTER name TYPE text USING name || '!'",
      "ALTER TABLE categories DROP name, ADD name text NOT NULL DEFAULT 'new'",
      'ALTER TABLE categories ADD x text; UPDATE categories SET x = id',
      'BEGIN; ALTER TABLE categories RENAME name TO y; ALTER TABLE categories RENAME x TO name; COMMIT'
    )
    await follow(0, `BEGIN; ${insert}; ROLLBACK`, 'VACUUM ANALYZE categories')
  }
)

t.test(
  'a transaction that commits late, or stays open, hides nothing and causes no read',
  async (t) => {
    const { follow, expectReads, databaseUrl } = await watch(t)
    const early = await begin(t, databaseUrl, 'REPEATABLE READ')
    await begin(t, databaseUrl)
    await early.query(insert)
    await follow(1, insert)
    await expectReads(0, 'two transactions are open')
    // A pruning meanwhile neither waits nor makes it fail.
    await follow(
      1,
      `INSERT INTO changes SELECT n, '3' FROM generate_series(1, 10000) AS n; ${prune}`
    )
    await early.query(`${insert}; COMMIT`)
    await expectReads(1, 'the earlier transaction commits')
  }
)

t.test(
  'a role that may only insert is recorded, even if it hides the record',
  async (t) => {
    const { owner, service } = await createRoles(t)
    const { expectReads, run } = await watch(t, service)
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
    const { run, follow, expectReads } = await watch(t)
    const recorded = () => run('SELECT count(*)::int FROM changes')
    await run(
      "INSERT INTO changes SELECT n, '3' FROM generate_series(1, 9000) AS n"
    )
    await follow(0, prune)
    await run(
      "INSERT INTO changes SELECT n, '4' FROM generate_series(1, 1000) AS n"
    )
    await run(insert)
    await run(prune)
    t.same(await recorded(), [{ count: 0 }])
    await expectReads(1, 'changed, and pruned before the next list')
    // More than can be deleted in the time of one pruning.
    await run(
      'INSERT INTO changes SELECT 1, n::text::xid8 FROM generate_series(1, 100100) AS n'
    )
    await follow(1, prune)
    t.same(await recorded(), [{ count: 100 }])
  }
)

t.test(
  'rows of a restored dump, with ids that no transaction has had, are pruned',
  async (t) => {
    const { follow } = await watch(t)
    await follow(
      2,
      "INSERT INTO changes VALUES ('categories'::regclass, '1000000000')"
    )
    await follow(1, prune)
  }
)

t.test(
  'after a crash, which empties the record, nothing is remembered until it has a new epoch',
  async (t) => {
    const { follow } = await watch(t)
    await follow(2, 'TRUNCATE changes, change_epoch')
    await follow(1, prune)
  }
)

t.test(
  'a table that is replaced or restored, in one transaction or several, is read again',
  async (t) => {
    const { follow } = await watch(t)
    const table =
      'CREATE TABLE categories (id bigint PRIMARY KEY, name text NOT NULL, description text)'
    const enable = 'ALTER TABLE categories ENABLE ALWAYS TRIGGER record_change'
    const trigger = `CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON categories EXECUTE FUNCTION record_change();
    ${enable}`
    const rows = "INSERT INTO categories VALUES (7, 'restored')"
    await follow(
      1,
      `BEGIN; DROP TABLE categories CASCADE; ${table}; ${rows}; ${trigger}; COMMIT`
    )
    await follow(2, `DROP TABLE categories CASCADE; ${table}`, rows)
    await follow(1, trigger)
    await follow(2, 'ALTER TABLE categories DISABLE TRIGGER ALL')
    await follow(
      2,
      `${enable}; CREATE TABLE child () INHERITS (categories)`,
      "INSERT INTO child VALUES (8, 'child')"
    )
  }
)
