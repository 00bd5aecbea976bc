// Tests the service on three hosts with PostgreSQL and Patroni while the
// primary fails. Run by `npm run patroni --prefix tools/deploy-check`, which
// creates the hosts as network namespaces (patroni.sh). Times are printed, not
// asserted.
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { CreateHistoryChecker } from '../../test/support/create-history-checker.ts'
import { migrate, query } from '../../test/support/database.ts'
import {
  createUntilStored,
  startClients,
  type Target
} from '../../test/support/resend.ts'
import { seed } from '../../test/support/scale.ts'
import { startService } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'

const hosts = ['1', '2', '3']
const urlOf = (host: string) => `postgres://postgres@10.0.1.${host}/postgres`
const proxyUrl = 'postgres://postgres@127.0.0.1:5000/postgres'

/** Seconds in which a cluster has three healthy members again. */
const recoveryTime = 180

/** What patroni.sh does to a host: `fail`, and later `heal`. */
interface Failure {
  title: string
  fail: 'kill' | 'freeze' | 'cut' | 'isolate'
  heal: 'start' | 'resume' | 'join'
}

const failures: Failure[] = [
  { title: 'is killed', fail: 'kill', heal: 'start' },
  { title: 'is frozen, and resumes', fail: 'freeze', heal: 'resume' },
  { title: 'is cut off from everything', fail: 'cut', heal: 'join' },
  {
    title: 'is cut off from the other hosts, but not from the service',
    fail: 'isolate',
    heal: 'join'
  }
]

/** Does to a host what patroni.sh describes. */
const act = (action: string, host: string) =>
  promisify(execFile)('tools/deploy-check/patroni.sh', [action, host])

/** Sends a request to Patroni on a host. */
const patroni = (host: string, path: string, options: RequestInit = {}) =>
  fetch(`http://10.0.1.${host}:8008${path}`, {
    ...options,
    signal: AbortSignal.timeout(2000)
  })

/** Whether Patroni has a synchronous standby, the only one it may promote. */
async function hasSynchronousStandby(): Promise<boolean> {
  const responses = await Promise.allSettled(
    hosts.map((host) => patroni(host, '/sync'))
  )
  return responses.some(
    (response) => response.status === 'fulfilled' && response.value.ok
  )
}

/**
 * Returns the host of the primary if the two others follow it, one of them
 * synchronously if that is required.
 */
async function findHealthyPrimary(
  isSynchronous: boolean
): Promise<string | undefined> {
  const sql = `
    SELECT host(inet_server_addr()) AS address, sync_state
    FROM pg_stat_replication
    WHERE application_name LIKE 'pg_' AND state = 'streaming'
  `
  const standbys = await query(proxyUrl, sql).catch(() => [])
  if (standbys.length !== 2) return undefined

  const synchronous = standbys.filter(
    (standby) => standby['sync_state'] === 'sync'
  )
  if (synchronous.length !== Number(isSynchronous)) return undefined

  // Patroni promotes only the standby in its record.
  const isRecorded = !isSynchronous || (await hasSynchronousStandby())
  return isRecorded ? String(standbys[0]?.['address']).slice(-1) : undefined
}

/** Resolves with the host of the primary when all three members are healthy. */
async function healthyPrimary(isSynchronous = true): Promise<string> {
  let primary: string | undefined
  await until(
    async () => {
      primary = await findHealthyPrimary(isSynchronous)
      return primary !== undefined
    },
    'three members are healthy',
    recoveryTime
  )
  return String(primary)
}

/** Resolves with the seconds until the host no longer accepts writes. */
async function demoted(host: string): Promise<string> {
  const seconds = stopwatch()
  const isWritable = async () => {
    const [row] = await query(urlOf(host), 'SHOW transaction_read_only')
    return row?.['transaction_read_only'] === 'off'
  }
  await until(
    async () => !(await isWritable().catch(() => false)),
    `host ${host} is demoted`,
    recoveryTime
  )
  return seconds()
}

/** Returns a function that returns the seconds since now. */
function stopwatch(): () => string {
  const startedAt = performance.now()
  return () => ((performance.now() - startedAt) / 1000).toFixed(1)
}

/** Lists the categories again and again, and checks each list. */
class Reader {
  /** Number of responses by status. */
  readonly counts: Record<number, number> = {}
  readonly #creates: CreateHistoryChecker
  readonly #target: Target
  readonly #working: Promise<void>
  #isStopped = false

  constructor(target: Target, creates: CreateHistoryChecker) {
    this.#target = target
    this.#creates = creates
    this.#working = this.#work()
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return this.#working
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      await this.#list()
      await sleep(100)
    }
  }

  async #list(): Promise<void> {
    const { url, key } = this.#target
    const expected = [...this.#creates.acknowledged]
    const response = await fetch(`${url}/v1/categories`, {
      headers: { authorization: `Bearer ${key}` }
    })
    const list = (await response.json()) as object[]

    this.counts[response.status] = (this.counts[response.status] ?? 0) + 1
    if (response.status === 200)
      this.#creates.checkList(expected, list, `a list from ${url}`)
  }
}

/** Clients that create, and readers that list, through both replicas. */
function startTraffic(t: Test, targets: Target[]) {
  const clients = startClients(targets, seed)
  const readers = targets.map((target) => new Reader(target, clients.creates))
  const stopReaders = () => Promise.all(readers.map((reader) => reader.stop()))
  t.teardown(async () => {
    await clients.stop(() => Promise.resolve([]))
    await stopReaders()
  })
  return { clients, readers, stopReaders }
}

const readCategories = () =>
  query(proxyUrl, 'SELECT id::int, name FROM categories')

/** Prints the seconds until a create is stored through each replica. */
async function timeRecovery(
  t: Test,
  { clients: { creates } }: ReturnType<typeof startTraffic>
): Promise<void> {
  const seconds = stopwatch()
  const recoveries = targets.map(async (target) => {
    const name = randomUUID()
    creates.record(name, await createUntilStored(() => target, name))
    return seconds()
  })
  const times = await Promise.all(recoveries)
  t.comment(`seconds until each replica stores a create: ${times.join()}`)
}

/**
 * Lets the primary fail and heal. Resolves when another host is the primary.
 */
async function failOver(
  t: Test,
  { fail, heal }: Failure,
  isSynchronous: boolean,
  traffic: ReturnType<typeof startTraffic>
): Promise<void> {
  const primary = await healthyPrimary(isSynchronous)
  await act(fail, primary)
  const seconds = stopwatch()

  const demotion = fail === 'isolate' ? demoted(primary) : undefined
  await timeRecovery(t, traffic)
  if (demotion !== undefined)
    t.comment(`seconds until the old primary is demoted: ${await demotion}`)
  await traffic.clients.stores(500)

  await act(heal, primary)
  if (heal === 'resume')
    t.comment(`seconds from resumption to demotion: ${await demoted(primary)}`)
  const successor = await healthyPrimary(isSynchronous)
  t.not(successor, primary, 'another host is the primary')
  t.comment(`seconds until three members are healthy: ${seconds()}`)
}

/**
 * Lets the primary fail and heal under load. Returns what is wrong with the
 * responses, compared with each other and the table.
 */
async function faultsAfter(
  t: Test,
  failure: Failure,
  isSynchronous = true
): Promise<string[]> {
  await query(proxyUrl, 'DELETE FROM categories')
  const traffic = startTraffic(t, targets)
  const { clients, readers, stopReaders } = traffic

  await clients.stores(500)
  await failOver(t, failure, isSynchronous, traffic)
  await clients.stores(500)

  await stopReaders()
  const faults = await clients.stop(readCategories)
  const rows = (await readCategories()).map((row) => JSON.stringify(row))
  const acknowledged = [...clients.creates.acknowledged]
  const lost = acknowledged.filter((body) => !rows.includes(body))
  t.comment(`acknowledged creates: ${acknowledged.length}`)
  t.comment(`acknowledged creates that are lost: ${lost.length}`)
  t.comment('requests sent again', clients.failures)
  t.comment('lists', ...readers.map(({ counts }) => counts))
  return faults
}

for (const host of hosts) await act('start', host)
t.teardown(() => {
  if (t.passing()) return
  for (const host of hosts) {
    const log = `/run/pg${host}/patroni.log`
    t.comment(execFileSync('tail', ['-n', '50', log]).toString())
  }
})
await healthyPrimary()
await migrate(proxyUrl)
const config = { MAX_REQUESTS_PER_MINUTE: 0 }
const replica = await startService(t, { databaseUrl: proxyUrl, config })
const other = await startService(t, { databaseUrl: proxyUrl, config })
/** One client uses both. */
const resource = 'categories'
const targets = [
  { ...replica, resource },
  { ...other, key: replica.key, resource }
]

for (const failure of failures) {
  t.test(
    `with synchronous replication, no create is lost when the primary ${failure.title}`,
    async (t) => {
      t.same(await faultsAfter(t, failure), [])
    }
  )
}

for (const failure of failures) {
  if (failure.fail !== 'kill' && failure.fail !== 'isolate') continue
  t.test(
    `with asynchronous replication, writes come back when the primary ${failure.title}`,
    async (t) => {
      const body = JSON.stringify({
        synchronous_mode: false,
        synchronous_mode_strict: false
      })
      const changed = await patroni('1', '/config', { method: 'PATCH', body })
      t.ok(changed.ok)

      const faults = await faultsAfter(t, failure, false)
      t.comment(`faults, which are expected here: ${faults.length}`)
      t.comment(faults.slice(0, 3), faults.slice(-2))
    }
  )
}
