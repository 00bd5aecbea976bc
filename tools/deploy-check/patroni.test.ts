// Tests the service on three hosts with PostgreSQL and Patroni while the
// primary fails. Run by `npm run patroni --prefix tools/deploy-check`, which
// creates the hosts as network namespaces (patroni.sh). Times are printed, not
// asserted.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { migrate, query } from '../../test/support/database.ts'
import {
  checkLists,
  createUntilStored,
  type Endpoint
} from '../../test/support/resend.ts'
import { startService } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { type Clients, databaseOutage, underLoad } from './under-load.ts'

const hosts = ['1', '2', '3']
const proxyUrl = 'postgres://postgres@127.0.0.1:5000/postgres'

/** Seconds in which a cluster has three healthy members again. */
const recoveryTime = 180

/** What patroni.sh does to the primary, and later to heal it. */
const failures: [title: string, fail: string, heal: string][] = [
  ['is killed', 'kill', 'start'],
  ['is frozen, and resumes', 'freeze', 'resume'],
  ['is cut off from everything', 'cut', 'join'],
  ['is cut off from the other hosts, not from the service', 'isolate', 'join']
]

/** Does to a host what patroni.sh describes. */
const act = (action: string, host: string) =>
  promisify(execFile)('tools/deploy-check/patroni.sh', [action, host])

/** Whether Patroni has recorded a host as the synchronous standby. */
const isSynchronousStandby = (host: string) =>
  fetch(`http://10.0.1.${host}:8008/sync`, {
    signal: AbortSignal.timeout(2000)
  }).then(
    ({ ok }) => ok,
    () => false
  )

/** The host of the primary if the two others follow it. */
async function findHealthyPrimary(): Promise<string | undefined> {
  const standbys = await query(
    proxyUrl,
    `SELECT host(inet_server_addr()) AS address, sync_state
     FROM pg_stat_replication
     WHERE application_name LIKE 'pg_' AND state = 'streaming'`
  ).catch(() => [])
  const states = standbys.map((standby) => standby['sync_state'])
  if (states.length !== 2 || !states.includes('sync')) return undefined

  // Patroni promotes only the standby in its record.
  const recorded = await Promise.all(hosts.map(isSynchronousStandby))
  if (!recorded.includes(true)) return undefined
  return String(standbys[0]?.['address']).slice(-1)
}

/** Resolves with the host of the primary when all three members are healthy. */
async function healthyPrimary(): Promise<string> {
  let primary: string | undefined
  const isHealthy = async () => {
    primary = await findHealthyPrimary()
    return primary !== undefined
  }
  await until(isHealthy, 'three members are healthy', recoveryTime)
  return String(primary)
}

/** Resolves when the host does not accept writes any more. */
const demoted = (host: string) =>
  until(
    async () => {
      const url = `postgres://postgres@10.0.1.${host}/postgres`
      const [row] = await query(url, 'SHOW transaction_read_only').catch(
        () => []
      )
      return row?.['transaction_read_only'] !== 'off'
    },
    `host ${host} is demoted`,
    recoveryTime
  )

for (const host of hosts) await act('start', host)
t.teardown(() => {
  if (t.passing()) return
  for (const host of hosts) {
    const log = readFileSync(`/run/pg${host}/patroni.log`, 'utf8').split('\n')
    // PostgreSQL writes a point before its milliseconds.
    const linesOfPatroni = log.filter((line) => /:\d\d,\d{3} /.test(line))
    t.comment(`host ${host}`, linesOfPatroni.slice(-40).join('\n'))
  }
})
await healthyPrimary()
await migrate(proxyUrl)
const replica = await startService(t, { databaseUrl: proxyUrl })
const { url } = await startService(t, { databaseUrl: proxyUrl })
/** One client uses both. */
const resource = 'categories'
const targets: [Endpoint, Endpoint] = [
  { ...replica, resource },
  { url, key: replica.key, resource }
]

/** Lets the primary fail and heal. Another host is the primary then. */
async function failOver(
  t: Test,
  fail: string,
  heal: string,
  clients: Clients
): Promise<void> {
  const primary = await healthyPrimary()
  await act(fail, primary)
  const isDemoted = fail === 'isolate' ? demoted(primary) : undefined
  const failedAt = performance.now()
  await Promise.all(
    targets.map(async (target) => {
      const name = randomUUID()
      const response = await createUntilStored(() => target, name)
      clients.creates.record(name, response)
    })
  )
  const seconds = (performance.now() - failedAt) / 1000
  t.comment(`seconds until both replicas store creates: ${seconds.toFixed(1)}`)
  await isDemoted
  await clients.stores(500)

  await act(heal, primary)
  if (heal === 'resume') await demoted(primary)
  t.not(await healthyPrimary(), primary, 'another host is the primary')
}

for (const [title, fail, heal] of failures) {
  t.test(`no create is lost when the primary ${title}`, async (t) => {
    await query(proxyUrl, 'DELETE FROM categories')
    const failAndHeal = async (clients: Clients) => {
      await clients.stores(500)
      const running = failOver(t, fail, heal, clients)
      // Until it is demoted, such a primary lists what no standby has.
      const areDurable = fail !== 'isolate'
      await Promise.all(
        targets.map((target) =>
          checkLists(target, clients.creates, running, areDurable)
        )
      )
    }
    await underLoad(t, targets, failAndHeal, databaseOutage)
  })
}
