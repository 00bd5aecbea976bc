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
import { databaseOutage, underLoad } from './under-load.ts'

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

async function startPooler() {
  const pooler = run(t, command)
  const responds = () => query(databaseUrl, 'SELECT').then(Boolean, () => false)
  await until(responds, 'PgBouncer responds')
  return pooler
}

let pooler = await startPooler()

/** Replaces PgBouncer: its connections have prepared nothing. */
async function restartPooler(): Promise<void> {
  pooler.child.kill('SIGKILL')
  await pooler.exited
  pooler = await startPooler()
}

await migrate(databaseUrl)
const config = { DATABASE_TIMEOUT_MS: 1000, MAX_REQUESTS_PER_MINUTE: 0 }
const service = await startService(t, { databaseUrl, config })
const created = () => codeOrStatus(post(service, 'categories', { name: 'x' }))

t.test('a slow statement is cancelled at the server', async (t) => {
  const lock = await lockTable(t, postgres.url, 'categories')
  t.equal(await created(), 'unavailable')
  t.equal(await lockWaits(postgres.url), 0)
  await lock.release()
  t.equal(await created(), 201)
})

for (const [what, restart] of [
  ['PgBouncer', restartPooler],
  ['PostgreSQL', postgres.crash]
] as const) {
  t.test(`a kill of ${what} under load loses and doubles no create`, (t) =>
    underLoad(
      t,
      [service],
      async (clients) => {
        for (let round = 0; round < 3; round++) {
          await restart()
          await clients.stores(100)
        }
      },
      databaseOutage
    )
  )
}
