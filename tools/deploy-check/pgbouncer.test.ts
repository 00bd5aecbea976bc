// The service behind PgBouncer in transaction mode. Run by
// `npm run pgbouncer --prefix tools/deploy-check`, which downloads PgBouncer if
// need be.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../../generated/names.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import { Database } from '../../src/framework/postgres/database.ts'
import {
  lockTable,
  lockWaits,
  migrate,
  query,
  silent
} from '../../test/support/database.ts'
import {
  configure,
  freePort,
  startPostgres
} from '../../test/support/postgres.ts'
import * as requests from '../../test/support/requests.ts'
import { startClients } from '../../test/support/resend.ts'
import { type Service, startService } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'

const [program = '', ...args] = execFileSync(
  'tools/deploy-check/pgbouncer.sh',
  ['node_modules/.cache/pgbouncer']
)
  .toString()
  .trim()
  .split(' ')

/** The configuration of a pooler on a port, in front of a server. */
const pgbouncerIni = (port: number, serverPort: number) => `[databases]
postgres = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_prepared_statements = 200
server_login_retry = 1
`

/** Starts PgBouncer in front of a server. */
async function startPooler(serverPort: number) {
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-pgbouncer-'))
  const file = path.join(folder, 'pgbouncer.ini')
  writeFileSync(file, pgbouncerIni(port, serverPort))

  // It does not run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const run = () =>
    spawn(program, [...args, ...user, file], { stdio: 'ignore' })
  const responds = () =>
    until(
      () => query(url, 'SELECT').then(Boolean, () => false),
      'PgBouncer responds'
    )

  let pooler = run()
  const kill = async () => {
    const exited = once(pooler, 'exit')
    pooler.kill('SIGKILL')
    await exited
  }
  t.teardown(async () => {
    await kill()
    rmSync(folder, { recursive: true })
  })
  await responds()

  return {
    url,
    async restart() {
      await kill()
      pooler = run()
      await responds()
    }
  }
}

const postgres = await startPostgres(t)
const pooler = await startPooler(postgres.port)

/** Starts a service while no connection of PgBouncer has prepared anything. */
async function startServiceOnNewConnections(t: Test) {
  await pooler.restart()

  return startService(t, {
    databaseUrl: pooler.url,
    config: { DATABASE_TIMEOUT_MS: 1000 }
  })
}

const createResult = (service: Service) =>
  requests.codeOrStatus(requests.createCategory(service))
const listResult = (service: Service) =>
  requests.codeOrStatus(requests.listCategories(service))

t.test(
  'migrations, creates, lists and keys work, and a revoked key is rejected',
  async (t) => {
    await migrate(pooler.url)
    const service = await startService(t, { databaseUrl: pooler.url })
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        n % 2 ? createResult(service) : listResult(service)
      )
    )
    t.same(new Set(responses), new Set([200, 201]))
    const database = new Database(
      pooler.url,
      { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 5000 },
      silent
    )
    t.teardown(() => database.close())
    await new ApiKeyStore(database, apiKeyPrefix).revoke('1')
    await until(
      async () => (await listResult(service)) === 'unauthorized',
      'the key is rejected'
    )
  }
)

t.test('a slow statement is cancelled at the server', async (t) => {
  const service = await startServiceOnNewConnections(t)
  const lock = await lockTable(t, postgres.url, 'categories')
  t.equal(await createResult(service), 'unavailable')
  t.equal(await lockWaits(postgres.url), 0)
  await lock.release()
  t.equal(await createResult(service), 201)
})

t.test('creates are unavailable while their table is missing', async (t) => {
  const service = await startServiceOnNewConnections(t)
  const rename = (from: string, to: string) =>
    query(postgres.url, `ALTER TABLE ${from} RENAME TO ${to}`)

  await rename('categories', 'moved')
  t.equal(await createResult(service), 'unavailable')
  t.equal(await createResult(service), 'unavailable')

  await rename('moved', 'categories')
  t.equal(await createResult(service), 201)
})

t.test(
  'a create whose standby is missing is an outcome_unknown, and ends at the server',
  async (t) => {
    const service = await startService(t, {
      databaseUrl: pooler.url,
      config: { DATABASE_TIMEOUT_MS: 1000 }
    })
    const requireStandby = (name: string) =>
      configure(postgres.url, `synchronous_standby_names = '${name}'`)
    t.teardown(() => requireStandby(''))
    await requireStandby('missing')
    await until(
      async () => (await createResult(service)) === 'outcome_unknown',
      'the server waits for the standby'
    )
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%INTO categories%'"
    t.same(await query(postgres.url, waiting), [])
    t.equal(await listResult(service), 200)
  }
)

t.test('while PostgreSQL is down, creates are unavailable', async (t) => {
  const service = await startService(t, { databaseUrl: pooler.url })
  t.equal(await createResult(service), 201)
  await postgres.kill()
  // The connections that PgBouncer had to it.
  await until(
    async () => (await createResult(service)) === 'unavailable',
    'creates are known to have no effect'
  )
  t.same(
    [await createResult(service), await listResult(service)],
    ['unavailable', 'unavailable']
  )
  await postgres.start()
  await until(
    async () => (await createResult(service)) === 201,
    'PgBouncer connects again'
  )
})

for (const [what, fail] of [
  ['PgBouncer', () => pooler.restart()],
  [
    'PostgreSQL',
    async () => {
      await postgres.kill()
      await postgres.start()
    }
  ]
] as const) {
  t.test(
    `a kill of ${what} under load loses and doubles no create`,
    async (t) => {
      const { url, key } = await startService(t, { databaseUrl: pooler.url })
      await query(postgres.url, 'DELETE FROM categories')
      const clients = startClients([{ url, key, resource: 'categories' }])
      for (let round = 0; round < 3; round++) {
        await clients.stores(100)
        await fail()
      }
      await clients.stores(100)
      const sql = 'SELECT id, name FROM categories'
      t.same(await clients.stop(() => query(postgres.url, sql)), [])
      t.notOk(clients.failures['lost'], 'the service closed no connection')
    }
  )
}
