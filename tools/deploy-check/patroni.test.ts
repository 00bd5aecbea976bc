// Tests the service on three hosts with PostgreSQL and Patroni while the primary fails. Run by `npm run patroni --prefix tools/deploy-check`, which
// creates the hosts as network namespaces (patroni.sh). Times are printed, not asserted.
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { migrate, query } from '../../test/support/database.ts'
import {
  Creates,
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
const hostsUrl = hosts.map(urlOf).join()

/** What test/support/patroni.sh does to a host. */
const act = (action: string, host: string) =>
  promisify(execFile)('tools/deploy-check/patroni.sh', [action, host])

/** Sends a request to Patroni on a host. */
const patroni = (host: string, path: string, options: RequestInit = {}) =>
  fetch(`http://10.0.1.${host}:8008${path}`, {
    ...options,
    signal: AbortSignal.timeout(2000)
  })

/** Whether Patroni on one of the hosts responds with 200. */
async function anyIs(path: string): Promise<boolean> {
  const responses = await Promise.allSettled(
    hosts.map((host) => patroni(host, path))
  )
  return responses.some(
    (response) => response.status === 'fulfilled' && response.value.ok
  )
}

/** Resolves with the host of the primary when the two others follow it, one of them synchronously. */
async function healthyPrimary(isSynchronous = true): Promise<string> {
  let primary = ''
  await until(async () => {
    const sql = `SELECT host(inet_server_addr()) AS address, sync_state FROM pg_stat_replication
      WHERE application_name LIKE 'pg_' AND state = 'streaming'`
    const standbys = await query(proxyUrl, sql).catch(() => [])
    primary = String(standbys[0]?.['address']).slice(-1)
    const synchronous = standbys.filter(
      ({ sync_state }) => sync_state === 'sync'
    )
    // Patroni promotes only the standby in its record.
    if (
      synchronous.length !== Number(isSynchronous) ||
      (isSynchronous && !(await anyIs('/sync')))
    )
      return false
    return standbys.length === 2
  }, 'three members are healthy')
  return primary
}

/** Resolves with the seconds until the host no longer accepts writes. */
async function demoted(host: string): Promise<number> {
  const since = performance.now()
  const isPrimary = async () =>
    (await query(urlOf(host), 'SHOW transaction_read_only'))[0]?.[
      'transaction_read_only'
    ]
  await until(
    async () => (await isPrimary().catch(() => undefined)) !== 'off',
    `host ${host} is demoted`
  )
  return Math.round((performance.now() - since) / 100) / 10
}

/** Lists the categories again and again. Each list must have every create that was acknowledged before its request. */
function startReader({ url, key }: Target, { acknowledged }: Creates) {
  const reader = {
    faults: new Set<string>(),
    seen: new Set<string>(),
    counts: {} as Record<number, number>
  }
  let isStopped = false
  async function work() {
    for (; !isStopped; await sleep(100)) {
      const count = acknowledged.size
      const response = await fetch(`${url}/v1/categories`, {
        headers: { authorization: `Bearer ${key}` }
      })
      const rows = (await response.json()) as object[]
      reader.counts[response.status] = (reader.counts[response.status] ?? 0) + 1
      if (response.status !== 200) continue
      const listed = new Set(rows.map((row) => JSON.stringify(row)))
      for (const row of listed) reader.seen.add(row)
      const missing = [...acknowledged]
        .slice(0, count)
        .filter((row) => !listed.has(row))
      for (const row of missing.slice(0, 3))
        reader.faults.add(`a list from ${url} lacks ${row}`)
    }
  }
  const working = work()
  return Object.assign(reader, {
    stop() {
      isStopped = true
      return working
    }
  })
}

for (const host of hosts) await act('start', host)
t.teardown(() => {
  if (t.passing()) return
  for (const host of hosts)
    t.comment(
      execFileSync('tail', [
        '-n',
        '50',
        `/run/pg${host}/patroni.log`
      ]).toString()
    )
})
await healthyPrimary()
await migrate(hostsUrl)
const proxied = await startService(t, {
  databaseUrl: proxyUrl,
  config: { MAX_REQUESTS_PER_MINUTE: 0 }
})
const direct = await startService(t, {
  databaseUrl: hostsUrl,
  config: { MAX_REQUESTS_PER_MINUTE: 0 }
})
/** One client uses both. */
const targets = [proxied, { ...direct, key: proxied.key }]

const rows = () => query(proxyUrl, 'SELECT id::int, name FROM categories')

/** Lets the primary fail and heal under load. Returns what is wrong with the responses, compared with each other and the table. */
async function strike(
  t: Test,
  fail: string,
  heal: string,
  isSynchronous = true
): Promise<string[]> {
  await query(proxyUrl, 'DELETE FROM categories')
  const primary = await healthyPrimary(isSynchronous)
  const clients = startClients(targets, seed)
  const { creates } = clients
  const readers = targets.map((target) => startReader(target, creates))
  t.teardown(() =>
    Promise.all([
      clients.stop(() => Promise.resolve([])),
      ...readers.map((reader) => reader.stop())
    ])
  )
  await clients.stores(500)

  await act(fail, primary)
  const failedAt = performance.now()
  const seconds = () => ((performance.now() - failedAt) / 1000).toFixed(1)
  const demotion = fail === 'isolate' ? demoted(primary) : undefined
  const back = targets.map(async (target) => {
    const name = randomUUID()
    creates.record(name, await createUntilStored(() => target, name, name))
    return seconds()
  })
  t.comment(
    `seconds until a create is stored, by HAProxy and by several URLs: ${(await Promise.all(back)).join()}`
  )
  if (demotion)
    t.comment(`seconds until the old primary is demoted: ${await demotion}`)
  await clients.stores(500)
  await act(heal, primary)
  if (heal === 'resume')
    t.comment(
      `seconds from its resumption until the old primary is demoted: ${await demoted(primary)}`
    )
  t.not(
    await healthyPrimary(isSynchronous),
    primary,
    'another host is the primary'
  )
  t.comment(`seconds until three members are healthy: ${seconds()}`)
  await clients.stores(500)

  await Promise.all(readers.map((reader) => reader.stop()))
  const faults = [
    ...(await clients.stop(rows)),
    ...readers.flatMap((reader) => [...reader.faults])
  ]
  const stored = new Set((await rows()).map((row) => JSON.stringify(row)))
  const gone = (bodies: Iterable<string>) =>
    [...bodies].filter((body) => !stored.has(body)).length
  t.comment(
    `of ${creates.acknowledged.size} acknowledged creates, ${gone(creates.acknowledged)} are lost`
  )
  t.comment(
    `rows that were listed, and are gone: ${gone(new Set(readers.flatMap(({ seen }) => [...seen])))}`
  )
  t.comment(
    'requests sent again',
    clients.failures,
    'lists',
    ...readers.map(({ counts }) => counts)
  )
  return faults
}

const failures = [
  ['is killed', 'kill', 'start'],
  ['is frozen, and resumes', 'freeze', 'resume'],
  ['is cut off from everything', 'cut', 'join'],
  [
    'is cut off from the other hosts, but not from the service',
    'isolate',
    'join'
  ]
] as const

for (const [what, fail, heal] of failures) {
  t.test(
    `with synchronous replication, each acknowledged create is kept when the primary ${what}`,
    async (t) => {
      t.same(await strike(t, fail, heal), [])
    }
  )
}

for (const [what, fail, heal] of failures.filter(
  ([, fail]) => fail === 'kill' || fail === 'isolate'
)) {
  t.test(
    `with asynchronous replication, writes come back when the primary ${what}`,
    async (t) => {
      const body = JSON.stringify({
        synchronous_mode: false,
        synchronous_mode_strict: false
      })
      t.ok((await patroni('1', '/config', { method: 'PATCH', body })).ok)
      const faults = await strike(t, fail, heal, false)
      t.comment(
        `faults, which are expected here: ${faults.length}`,
        faults.slice(0, 3),
        faults.slice(-2)
      )
    }
  )
}
