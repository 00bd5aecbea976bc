// Whatever changes a table, the next list has it. A mutant weakens one part
// of the fingerprint, and must miss a change.
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { beginTransaction, connect, query } from './support/database.ts'
import {
  configure,
  startDedicatedPostgres
} from './support/dedicated-postgres.ts'
import { listCategories } from './support/requests.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

const server = await startDedicatedPostgres(t)
const { url } = server
// Only commits make transaction ids durable.
await configure(url, "wal_writer_delay = '10s'")
await configure(url, 'autovacuum = off')
await configure(url, 'max_prepared_transactions = 20')
await server.restart()

const insert = (name: string) =>
  `INSERT INTO categories (name) VALUES ('${name}')`

/** Makes a client that asks a replica whether its list has changed. */
function clientOf(service: Service) {
  let etag = '"none"'
  let rows: object[] = []

  return async () => {
    await until(async () => {
      const response = await listCategories(service, { 'if-none-match': etag })
      if (response.statusCode === 200) {
        etag = String(response.headers.etag)
        rows = response.json()
      }
      // A connection may have ended with its server.
      return response.statusCode < 500
    }, 'lists work')
    return rows
  }
}

type Scene = ReturnType<typeof openScene>

/** A client of a replica on the server. */
function openScene(t: Test, service: Service) {
  const listRows = clientOf(service)
  const run = (sql: string) => query(url, sql)

  /** Whether the client has what the table has. */
  async function isFresh(): Promise<boolean> {
    const stored = await run('SELECT id::int, name FROM categories ORDER BY id')
    return isDeepStrictEqual(await listRows(), stored)
  }

  /** The id of the next transaction. */
  async function nextId(): Promise<number> {
    const sql = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id'
    const [row] = await run(sql)
    return Number(row?.['id'])
  }

  /** Ends transactions until `id` is the next one. */
  async function useIdsUntil(id: number): Promise<void> {
    while ((await nextId()) < id) await run('SELECT pg_current_xact_id()')
  }

  return { t, run, listRows, isFresh, nextId, useIdsUntil }
}

/** Makes lists, and then a change that the next list must show. */
type Change = (scene: Scene) => Promise<unknown>

const preparedTransaction: Change = async ({ run, listRows }) => {
  await run(`BEGIN; ${insert('x')}; PREPARE TRANSACTION 'x'`)
  await listRows()
  await run("COMMIT PREPARED 'x'")
}

/** A transaction that has an id and commits after others. */
const lateCommit: Change = async ({ t, run, listRows, isFresh }) => {
  const late = await beginTransaction(t, url, insert('late'))
  await listRows()
  await run(insert('early'))
  t.ok(await isFresh(), 'the early one is listed')
  await late.commit()
}

const openTransaction: Change = async ({ t, run, listRows }) => {
  const client = await connect(t, url)
  await client.query('BEGIN; SELECT pg_current_xact_id()')
  await listRows()
  await run(insert('meanwhile'))
}

/**
 * A list has a row whose commit is lost in a crash. Another commit then gets
 * the id of the lost one, so the snapshot is the same again.
 */
const reusedIds: Change = async ({ run, listRows, nextId, useIdsUntil }) => {
  await until(async () => {
    // Writes the log, so that the next commit alone is not flushed.
    await run('SELECT pg_switch_wal(), pg_current_xact_id()')
    await run('CHECKPOINT')
    await run(`SET synchronous_commit = off; ${insert('lost')}`)
    await listRows()
    const next = await nextId()

    await server.killWalWriter()
    const isLost = (await nextId()) < next
    if (isLost) await useIdsUntil(next - 1)
    await run(insert('kept'))
    return isLost
  }, 'the id of a commit is lost')
}

/** The same after a copy of the files, as a machine's snapshot has it, is back. */
const restoredFiles: Change = async ({
  run,
  listRows,
  nextId,
  useIdsUntil
}) => {
  const restore = await server.copyFiles()
  await run(insert('lost'))
  await listRows()
  const next = await nextId()

  await restore()
  await useIdsUntil(next - 1)
  await run(insert('kept'))
}

/** What changes the rows of a list, by its name. */
const changes: Record<string, Change> = {
  'a change without triggers, as replication makes it': ({ run }) =>
    run(`SET session_replication_role = replica; ${insert('x')}`),
  'a prepared transaction': preparedTransaction,
  'a transaction that commits late': lateCommit,
  'a commit while a transaction is open': openTransaction,
  'a crash of one process that loses commits': reusedIds,
  'files that are restored': restoredFiles
}

/** Puts a function of this name before that of PostgreSQL. */
async function shadow(t: Test, name: string, returns: string) {
  await query(
    url,
    `CREATE SCHEMA mutant;
     GRANT USAGE ON SCHEMA mutant TO PUBLIC;
     CREATE FUNCTION mutant.${name}() RETURNS text RETURN ${returns};
     ALTER DATABASE postgres SET search_path = mutant, public, pg_catalog`
  )
  t.teardown(() =>
    query(
      url,
      `ALTER DATABASE postgres RESET search_path;
       DROP SCHEMA mutant CASCADE`
    ).catch(() => {})
  )
}

async function isFreshAfter(t: Test, service: Service, change?: Change) {
  await query(url, 'TRUNCATE categories CASCADE')
  const scene = openScene(t, service)
  await scene.listRows()
  await change?.(scene)
  return scene.isFresh()
}

const service = await startService(t, { databaseUrl: url })

for (const [name, change] of Object.entries(changes)) {
  t.test(`the next list shows ${name}`, async (t) =>
    t.ok(await isFreshAfter(t, service, change))
  )
}

for (const [name, returns, missed] of [
  [
    'pg_current_snapshot',
    'pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text',
    'a commit while a transaction is open'
  ],
  [
    'pg_stat_get_bgwriter_stat_reset_time',
    "'constant'",
    'a crash of one process that loses commits'
  ],
  ['pg_postmaster_start_time', "'constant'", 'files that are restored']
] as const) {
  t.test(`a weaker ${name} misses ${missed}`, async (t) => {
    await shadow(t, name, returns)
    const mutant = await startService(t, { databaseUrl: url })
    t.notOk(await isFreshAfter(t, mutant, changes[missed]))
  })
}
