// The service behind PgBouncer in transaction mode. Run by
// `npm run pgbouncer --prefix tools/deploy-check`, which downloads PgBouncer if
// need be.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import {
  lockTable,
  lockWaits,
  migrate,
  query
} from '../../test/support/database.ts'
import { freePort, startPostgres } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { codeOrStatus, post } from '../../test/support/requests.ts'
import { startService } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { type Clients, databaseOutage, underLoad } from './under-load.ts'

const postgres = await startPostgres(t)
const port = await freePort()
const file = path.join(t.testdir(), 'pgbouncer.ini')
writeFileSync(
  file,
  `[databases]
postgres = host=127.0.0.1 port=${postgres.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_prepared_statements = 200
server_login_retry = 1
`
)
const program = execFileSync('tools/deploy-check/pgbouncer.sh', [
  'node_modules/.cache/pgbouncer'
])
// It does not run as root.
const user = process.getuid?.() === 0 ? ' -u nobody' : ''
const command = `${program.toString().trim()}${user} ${file}`.split(' ')
const databaseUrl = `postgres://postgres@127.0.0.1:${port}/postgres`

/** Starts PgBouncer, whose connections have prepared nothing. */
async function startPooler() {
  const pooler = run(t, command)
  const responds = () => query(databaseUrl, 'SELECT').then(Boolean, () => false)
  await until(responds, 'PgBouncer responds')
  return pooler
}

let pooler = await startPooler()
await migrate(databaseUrl)
const config = { DATABASE_TIMEOUT_MS: 1000, MAX_REQUESTS_PER_MINUTE: 0 }
const service = await startService(t, { databaseUrl, config })

t.test('a slow statement is cancelled at the server', async (t) => {
  await lockTable(t, postgres.url, 'categories')
  const create = post(service, 'categories', { name: 'x' })
  t.equal(await codeOrStatus(create), 'unavailable')
  t.equal(await lockWaits(postgres.url), 0)
})

t.test('kills of PgBouncer under load lose and double no create', (t) => {
  const killThreeTimes = async (clients: Clients) => {
    for (let kills = 0; kills < 3; kills++) {
      pooler.child.kill('SIGKILL')
      await pooler.exited
      pooler = await startPooler()
      await clients.stores(100)
    }
  }
  return underLoad(t, [service], killThreeTimes, databaseOutage)
})
