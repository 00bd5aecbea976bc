// Whatever changes a table, the next list equals it. For each part of the
// version there is a mutant without it, which must miss a change.
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { listHandler } from '../../../src/framework/reads/list-handler.ts'
import { ResponseBuffers } from '../../../src/framework/reads/response-buffers.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { begin, connect, openDatabase, query } from '../../support/database.ts'
import { noteJson } from '../../support/notes/generated/json.ts'
import { startPair, startPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const settings = {
  max_prepared_transactions: '20',
  wal_writer_delay: '10s',
  autovacuum: 'off'
}
const server = await startPostgres(t, settings)

const insert = (name: string) => `INSERT INTO notes (name) VALUES ('${name}')`
const snapshot = 'pg_current_snapshot()::text'

/** A replica, and the last list that a client got from it. */
interface Replica {
  app: FastifyInstance
  etag: string
  body: string
}

/** Replaces the version in the statement of a list. */
function replaceVersion(t: Test, database: Database, version: string) {
  const prepare = database.prepare.bind(database)
  database.prepare = (name, text) => {
    const own = /concat_ws\([^]+\) AS version/
    t.match(text, own)
    return prepare(name, text.replace(own, `${version} AS version`))
  }
}

function startReplica(t: Test, database: Database): Replica {
  const notes = { statementName: 'listNotes', table: 'notes', json: noteJson }
  const buffers = new ResponseBuffers(2 ** 20, database.metrics)
  const app = Fastify()
  app.get('/', listHandler(database, buffers, notes))
  t.teardown(() => app.close())
  return { app, etag: '"none"', body: '' }
}

/** Lists like a client that asks whether its list has changed. */
async function list(replica: Replica): Promise<string> {
  const { app, etag } = replica
  await until(async () => {
    const response = await app.inject({
      url: '/',
      headers: { 'if-none-match': etag }
    })
    if (response.statusCode === 200) {
      replica.etag = String(response.headers.etag)
      replica.body = response.body
    }
    // A connection may have ended with its server.
    return response.statusCode < 500
  }, 'lists work')

  return replica.body
}

/** The list as the table has it now. */
async function stored(url: string): Promise<string> {
  const [row] = await query(
    url,
    `SELECT coalesce(
       '[' || string_agg(${noteJson.expression}, ',' ORDER BY id) || ']', '[]'
     ) AS list
     FROM notes`
  )
  return String(row?.['list'])
}

/** A server, its two replicas, and what a case needs. */
class Scene {
  readonly t: Test
  readonly url: string
  readonly replicas: Replica[]

  constructor(t: Test, url: string, version?: string) {
    this.t = t
    this.url = url
    this.replicas = [1, 2].map(() => {
      const database = openDatabase(t, url)
      if (version !== undefined) replaceVersion(t, database, version)
      return startReplica(t, database)
    })
  }

  run = (sql: string) => query(this.url, sql)

  listAll = async (): Promise<void> => {
    for (const replica of this.replicas) await list(replica)
  }

  /** Whether each replica lists what the table has. */
  async isFresh(): Promise<boolean> {
    const truth = await stored(this.url)
    const lists = []
    for (const replica of this.replicas) lists.push(await list(replica))
    return lists.every((body) => body === truth)
  }

  /** The id of the next transaction. */
  async nextId(): Promise<number> {
    const [row] = await this.run(
      'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id'
    )
    return Number(row?.['id'])
  }

  /** Ends transactions until `id` is the next one. */
  async useIdsUntil(id: number): Promise<void> {
    while ((await this.nextId()) < id)
      await this.run('SELECT pg_current_xact_id()')
  }
}

/** Makes lists, and then a change that the next list must show. */
type Change = (scene: Scene) => Promise<unknown>

const after =
  (first: string, then: string): Change =>
  async ({ run, listAll }) => {
    await run(first)
    await listAll()
    await run(then)
  }

/** A transaction that has an id and commits after others. */
const lateCommit: Change = async (scene) => {
  const late = await begin(scene.t, scene.url, insert('late'))
  await scene.listAll()
  await scene.run(insert('early'))
  scene.t.ok(await scene.isFresh(), 'the early one is listed')
  await late.commit()
}

const openTransaction: Change = async (scene) => {
  await begin(scene.t, scene.url, 'SELECT pg_current_xact_id()')
  await scene.listAll()
  await scene.run(insert('meanwhile'))
}

/** A commit between the snapshot of the rows and that of `late_version()`. */
const commitDuringList: Change = async (scene) => {
  await scene.run(
    `CREATE OR REPLACE FUNCTION late_version() RETURNS text
     LANGUAGE plpgsql VOLATILE AS $$
     BEGIN
       PERFORM pg_advisory_xact_lock(1);
       RETURN ${snapshot};
     END $$`
  )
  const holder = await connect(scene.t, scene.url)
  await holder.query('SELECT pg_advisory_lock(1)')
  let isListed = false
  const listing = scene.listAll().then(() => {
    isListed = true
  })
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory'"
  await until(
    async () => isListed || (await scene.run(waiting)).length > 0,
    'the list is read, or waits'
  )
  await scene.run(insert('during'))
  await holder.query('SELECT pg_advisory_unlock(1)')
  await listing
}

/**
 * A list has a row whose commit is lost in a crash. Another commit then gets
 * the id of the lost one, so the snapshot is the same again.
 */
const reusedIds: Change = async (scene) => {
  await until(async () => {
    // Writes the log, so that the next commit alone is not flushed.
    await scene.run('SELECT pg_switch_wal(), pg_current_xact_id()')
    await scene.run('CHECKPOINT')
    await scene.run(`SET synchronous_commit = off; ${insert('lost')}`)
    await scene.listAll()
    const nextId = await scene.nextId()

    await server.killBackend()
    const isLost = (await scene.nextId()) < nextId
    if (isLost) await scene.useIdsUntil(nextId - 1)
    await scene.run(insert('kept'))
    return isLost
  }, 'the id of a commit is lost')
}

/** What changes the rows of a list, by its name. */
const changes: Record<string, Change> = {
  INSERT: ({ run }) => run(insert('x')),
  TRUNCATE: after(insert('x'), 'TRUNCATE notes CASCADE'),

  'a change without triggers, as replication makes it': ({ run }) =>
    run(`SET session_replication_role = replica; ${insert('x')}`),
  'a prepared transaction': after(
    `BEGIN; ${insert('x')}; PREPARE TRANSACTION 'x'`,
    "COMMIT PREPARED 'x'"
  ),

  'a transaction that commits late': lateCommit,
  'a commit while a transaction is open': openTransaction,
  'a commit while the list is read': commitDuringList,
  'a crash of one process that loses commits': reusedIds
}

async function isFreshAfter(
  t: Test,
  change: Change | undefined,
  version?: string
): Promise<boolean> {
  await query(server.url, 'TRUNCATE notes CASCADE')
  const scene = new Scene(t, server.url, version)
  await scene.listAll()
  await change?.(scene)
  return scene.isFresh()
}

for (const [name, change] of Object.entries(changes)) {
  t.test(`the next list shows ${name}`, async (t) =>
    t.ok(await isFreshAfter(t, change))
  )
}

/** The standby uses ids of transactions that only the lost primary had. */
async function isFreshAfterFailover(t: Test, version?: string) {
  const pair = await startPair(t, settings)
  const scene = new Scene(t, pair.url, version)
  await scene.listAll()
  await pair.isolate()
  await scene.run(insert('lost'))
  await scene.listAll()
  const id = await scene.nextId()

  await pair.primary.kill()
  await pair.promote()
  const isPrimary = async () =>
    (await scene.run('SELECT WHERE NOT pg_is_in_recovery()')).length === 1
  await until(() => isPrimary().catch(() => false), 'the standby is promoted')
  await scene.useIdsUntil(id - 1)
  await scene.run(insert('kept'))
  return scene.isFresh()
}

t.test('the next list shows the rows of a promoted standby', async (t) =>
  t.ok(await isFreshAfterFailover(t))
)

const startTime = 'pg_postmaster_start_time()'
const resetTime = 'pg_stat_get_bgwriter_stat_reset_time()'

/** Wrong versions, and what they miss. */
const mutants = [
  {
    name: 'without the reset of the statistics',
    version: `concat_ws(' ', ${snapshot}, ${startTime})`,
    missed: 'a crash of one process that loses commits'
  },
  {
    name: 'of xmin only',
    version: 'pg_snapshot_xmin(pg_current_snapshot())::text',
    missed: 'a commit while a transaction is open'
  },
  {
    name: 'that is newer than the rows',
    version: 'late_version()',
    missed: 'a commit while the list is read'
  }
]
for (const { name, version, missed } of mutants) {
  t.test(`a version ${name} misses ${missed}`, async (t) => {
    // It exists before the first list.
    const create = `CREATE OR REPLACE FUNCTION late_version() RETURNS text
      RETURN ${snapshot}`
    await query(server.url, create)
    t.notOk(await isFreshAfter(t, changes[missed], version))
  })
}

t.test('a version without the time of the start misses a failover', async (t) =>
  t.notOk(
    await isFreshAfterFailover(t, `concat_ws(' ', ${snapshot}, ${resetTime})`)
  )
)

t.test('an unchanged list is not read again', async (t) => {
  const database = openDatabase(t, server.url)
  const runs = t.capture(database, 'run', database.run.bind(database))
  const { app } = startReplica(t, database)
  await app.inject('/')
  await app.inject('/')
  const version = / postgres public$/
  const lists = [{ body: String }, { body: null }]
  for (const [index, run] of runs().entries())
    t.match('returned' in run && (await run.returned), [
      { version, ...lists[index] }
    ])
})
