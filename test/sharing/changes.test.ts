import { mock } from 'node:test'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createRoles, query } from '../support/database.ts'
import { startService } from '../support/service.ts'

const insert = "INSERT INTO categories (name) VALUES ('x')"
const prune = 'SELECT prune_changes()'

// No service prunes but by these tests.
mock.timers.enable({ apis: ['setInterval'] })
t.teardown(() => mock.timers.reset())

/** A service, how often it has read the table for a list, and a check that its list is that of the table. */
async function watch(t: Test, databaseUrl?: string) {
  let reads = 0
  const service = await startService(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
    onStatement: (name) => {
      if (name === 'page-of-categories') reads++
    }
  })
  const { app, auth } = service
  const run = (sql: string) => query(service.databaseUrl, sql)
  const list = async () => (await app.inject({ url: '/v1/categories', headers: auth })).json<{ id: number }[]>()
  /** Lists twice, and compares both with the table and the number of reads. */
  const expectReads = async (count: number, what: string) => {
    const before = reads
    const rows = await run('SELECT id::int, name FROM categories ORDER BY id')
    t.strictSame([await list(), await list()], [rows, rows], what)
    t.equal(reads - before, count, `${count} reads: ${what}`)
  }
  await run(insert)
  await expectReads(1, 'a new category')
  return { ...service, run, list, expectReads }
}

/** A client with a transaction that has an id. */
async function begin(t: Test, url: string, isolation = 'READ COMMITTED') {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`BEGIN ISOLATION LEVEL ${isolation}; SELECT pg_current_xact_id()`)
  return client
}

t.test('a list follows every change by SQL, and is read once for each', async (t) => {
  const { run, expectReads } = await watch(t)
  for (const sql of [
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
  ]) {
    await run(sql)
    await expectReads(1, sql)
  }
  await run(`BEGIN; ${insert}; ROLLBACK`)
  await run('VACUUM ANALYZE categories')
  await expectReads(0, 'nothing is committed')
})

t.test('a transaction that commits late, or stays open, hides nothing and causes no read', async (t) => {
  const { run, expectReads, databaseUrl } = await watch(t)
  const early = await begin(t, databaseUrl, 'REPEATABLE READ')
  await begin(t, databaseUrl)
  await early.query(insert)
  await run(insert)
  await expectReads(1, 'a later transaction commits first')
  await expectReads(0, 'two transactions are open')
  // A pruning meanwhile neither waits nor makes it fail.
  await run("INSERT INTO changes SELECT n, '3' FROM generate_series(1, 10000) AS n")
  await run(prune)
  await expectReads(1, 'pruned')
  await early.query(`${insert}; COMMIT`)
  await expectReads(1, 'the earlier transaction commits')
})

t.test('a role that may only insert is recorded, even if it hides the record', async (t) => {
  const { owner, service } = await createRoles(t)
  const { expectReads, run } = await watch(t, service)
  const role = new URL(service).username
  await query(owner, `REVOKE ALL ON changes, change_epoch FROM ${role}`)
  await run(`CREATE TEMP TABLE changes (relation oid, xid xid8); ${insert}`)
  await query(owner, `GRANT SELECT ON changes, change_epoch TO ${role}`)
  await expectReads(1, 'inserted')
})

t.test('the record is pruned from 10,000 rows, which a list survives', async (t) => {
  const { run, expectReads } = await watch(t)
  await run("INSERT INTO changes SELECT n, '3' FROM generate_series(1, 9000) AS n")
  await run(prune)
  await expectReads(0, 'too few rows')
  await run("INSERT INTO changes SELECT n, '4' FROM generate_series(1, 1000) AS n")
  await run(insert)
  await run(prune)
  t.match(await run('SELECT count(*) FROM changes'), [{ count: '0' }])
  await expectReads(1, 'changed, and pruned before the next list')
  // More than can be deleted in the time of one pruning.
  await run('INSERT INTO changes SELECT 1, n::text::xid8 FROM generate_series(1, 100100) AS n')
  await run(prune)
  t.match(await run('SELECT count(*) FROM changes'), [{ count: '100' }])
  await expectReads(1, 'pruned in part')
})

t.test('rows of a restored dump, with ids that no transaction has had, are pruned', async (t) => {
  const { run, expectReads } = await watch(t)
  await run("INSERT INTO changes VALUES ('categories'::regclass, '1000000000')")
  await expectReads(2, 'a change of the future')
  await run(prune)
  await expectReads(1, 'pruned')
})

t.test('after a crash, which empties the record, nothing is remembered until it has a new epoch', async (t) => {
  const { run, expectReads } = await watch(t)
  await run('TRUNCATE changes, change_epoch')
  await expectReads(2, 'no epoch')
  await run(prune)
  await expectReads(1, 'a new epoch')
})

t.test('a table that is replaced or restored, in one transaction or several, is read again', async (t) => {
  const { run, expectReads } = await watch(t)
  const table = 'CREATE TABLE categories (id bigint PRIMARY KEY, name text NOT NULL, description text)'
  const trigger = `CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON categories EXECUTE FUNCTION record_change();
    ALTER TABLE categories ENABLE ALWAYS TRIGGER record_change`
  const rows = "INSERT INTO categories VALUES (7, 'restored')"
  await run(`BEGIN; DROP TABLE categories CASCADE; ${table}; ${rows}; ${trigger}; COMMIT`)
  await expectReads(1, 'replaced')
  await run(`DROP TABLE categories CASCADE; ${table}`)
  await expectReads(2, 'without the trigger')
  await run(rows)
  await expectReads(2, 'restored')
  await run(trigger)
  await expectReads(1, 'with the trigger')
  await run('ALTER TABLE categories DISABLE TRIGGER ALL')
  await expectReads(2, 'while the trigger is off')
  await run('ALTER TABLE categories ENABLE ALWAYS TRIGGER record_change; CREATE TABLE child () INHERITS (categories)')
  await expectReads(2, 'with rows of a child')
})
