// Tests the service on three hosts with PostgreSQL and Patroni while the
// primary fails. Run by `npm run patroni --prefix tools/deploy-check`, which
// creates the hosts as network namespaces (patroni.sh).
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { migrate, query } from '../../test/support/database.ts'
import { checkLists, type Endpoint } from '../../test/support/resend.ts'
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
  ['is cut off from the other hosts, not from the service', 'isolate', 'join']
]

/** Does to a host what patroni.sh describes. */
const act = (action: string, host: string) =>
  promisify(execFile)('tools/deploy-check/patroni.sh', [action, host])

interface Member {
  name: string
  role: 'leader' | 'sync_standby' | 'replica'
  state: string
}

/** The host of the primary if the two others follow it, one synchronously. */
async function findHealthyPrimary(): Promise<string | undefined> {
  const response = await fetch('http://10.0.1.1:8008/cluster')
  const { members } = (await response.json()) as { members: Member[] }
  const followers = members.filter(({ state }) => state === 'streaming')
  const isHealthy =
    followers.length === 2 &&
    followers.some(({ role }) => role === 'sync_standby')
  const primary = members.find(({ role }) => role === 'leader')
  return isHealthy ? primary?.name.slice(-1) : undefined
}

/** Resolves with the host of the primary when all three members are healthy. */
const healthyPrimary = () =>
  until(
    () => findHealthyPrimary().catch(() => undefined),
    'three members are healthy',
    recoveryTime
  )

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
await healthyPrimary()
await migrate(proxyUrl)
const { key, url } = await startService(t, { databaseUrl: proxyUrl })
const other = await startService(t, { databaseUrl: proxyUrl })
/** Replicas of one service. */
const targets: [Endpoint, Endpoint] = [
  { url, key, resource: 'categories' },
  { url: other.url, key, resource: 'categories' }
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
  if (fail === 'isolate') await demoted(primary)
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
