// Provokes the incidents of docs/runbook.md, while a Prometheus scrapes the
// service and its proxy: their alerts fire. Run by
// `npm run rules --prefix tools/deploy-check`, which needs prometheus and
// haproxy.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../../generated/names.ts'
import { makeKey } from '../../src/framework/keys/key.ts'
import { lockTable, query } from '../../test/support/database.ts'
import { postNamed, serve, started } from '../../test/support/process.ts'
import { freePort, startPostgres } from '../../test/support/postgres.ts'
import { createKeyIn } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { startExporters } from './exporters.ts'
import {
  alerts,
  dashboardExpressions,
  incidents,
  writeHastyRules
} from './observability.ts'
import { Prometheus } from './prometheus.ts'
import { startHaproxy } from './haproxy.ts'

// Only what is vacuumed by hand leaves room on a full disk.
const postgres = await startPostgres(t, { autovacuum: 'off' })
const { url: databaseUrl } = postgres
const port = await freePort()
const metricsPort = await freePort()
const url = `http://127.0.0.1:${port}`

/** Starts the service on the same ports as before. */
async function startReplica() {
  const replica = serve(t, {
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATABASE_TIMEOUT_MS: '1000',
    MAX_DATABASE_CONNECTIONS: '2',
    METRICS_PORT: String(metricsPort),
    MAX_REQUESTS_PER_MINUTE: '100'
  })
  await started(replica)
  return replica
}

let service = await startReplica()
const proxy = await startHaproxy(t, [url], { MAX_REQUESTS_PER_KEY: '10' })
const exporters = await startExporters(t)
const prometheus = await Prometheus.start(t, writeHastyRules(), {
  'pet-categories': [`127.0.0.1:${metricsPort}`],
  haproxy: [`127.0.0.1:${proxy.metricsPort}`],
  exporters: [exporters.address]
})

const newKey = () => createKeyIn(databaseUrl)
const readiness = async () => (await fetch(`${url}/readyz`)).status
const createTimes = (count: number, apiKey: string, target = url) =>
  Promise.all(
    Array.from({ length: count }, () => postNamed(target, apiKey, 'x'))
  )

const getWithKey = (apiKey: string, resource: string, headers = {}) =>
  fetch(`${url}/v1/${resource}`, {
    headers: { authorization: `Bearer ${apiKey}`, ...headers }
  })

const key = await newKey()
const createStatus = async (apiKey = key) =>
  (await postNamed(url, apiKey, 'x')).status

/** The incidents that were provoked, as in `runbook_url`. */
const provoked = new Set<unknown>()

interface Expected {
  /** What goes on until the alert fires. */
  during?: () => Promise<unknown>
  /** A label of the alert, by name. */
  labels?: Record<string, string>
}

/** Resolves when the alert fires. */
async function fires(
  t: Test,
  name: string,
  { during = () => Promise.resolve(), labels = {} }: Expected = {}
): Promise<void> {
  const since = Date.now()
  const expected = Object.entries({ ...labels, alertname: name })
  const find = async () =>
    (await prometheus.alerts()).find((alert) =>
      expected.every(([label, value]) => alert.labels[label] === value)
    )

  const isFiring = async () => {
    await during()
    return (await find())?.state === 'firing'
  }
  await until(isFiring, `the alert ${name} fires`, 180)

  const pendingMs = Date.parse((await find())?.activeAt ?? '') - since
  t.comment(`${name} was pending after ${Math.round(pendingMs / 1000)} s`)
  const rule = alerts.find(({ alert }) => alert === name)
  provoked.add(rule?.annotations?.runbook_url)
}

t.test('a service that works has no alert', async (t) => {
  t.equal(await readiness(), 200)
  t.equal(await createStatus(), 201)

  const scrapes = 'count_over_time((ready == 1)[5m:1s])'
  const isScraped = async () => (await prometheus.value(scrapes)) > 10
  await until(isScraped, 'the rules have been evaluated', 60)
  const isCalm = async () => (await prometheus.alerts()).length === 0
  await until(isCalm, 'there is no alert')
})

t.test('each expression of the dashboard has a value', async (t) => {
  const proxied = async () =>
    (await postNamed(proxy.url, makeKey(apiKeyPrefix), 'x')).status === 401
  await until(proxied, 'the proxy finds the service')

  for (const { title, expr } of dashboardExpressions()) {
    const hasValue = async () => (await prometheus.count(expr)) > 0
    await until(hasValue, `${title}: ${expr}`, 60)
    t.pass(title)
  }
})

t.test('a proxy is not trusted', async (t) => {
  const proxied = await newKey()
  const during = () =>
    getWithKey(proxied, 'categories', { 'x-forwarded-for': '192.0.2.1' })
  await fires(t, 'ClientAddressesWrong', { during })
})

t.test('nothing consumes the queue', async (t) => {
  await query(
    databaseUrl,
    `INSERT INTO messages (id, message, created_at)
     VALUES (gen_random_uuid(), 'x', now() - interval '1 hour')`
  )
  await fires(t, 'QueueStale')
})

t.test('a key in use expires', async (t) => {
  const expiring = await newKey()
  await query(
    databaseUrl,
    `UPDATE api_keys SET expires_at = now() + interval '1 day'
     WHERE id = (SELECT max(id) FROM api_keys)`
  )
  t.equal(await createStatus(expiring), 201)
  await fires(t, 'KeyExpires')
})

t.test('a table is locked', async (t) => {
  const lock = await lockTable(t, databaseUrl, 'categories')
  const waiting = await newKey()
  const during = () =>
    Promise.all([
      createStatus(waiting),
      getWithKey(waiting, 'categories'),
      getWithKey(waiting, 'pets'),
      getWithKey(waiting, 'pets/1'),
      getWithKey(waiting, 'orders')
    ])
  await fires(t, 'StatementsTimeOut', { during })
  await fires(t, 'PoolExhausted', { during })
  await fires(t, 'ErrorBudgetBurnsFast', { during })
  await lock.release()
})

t.test('an operation fails', async (t) => {
  const failing = await newKey()
  await query(
    databaseUrl,
    `ALTER TABLE categories
     ADD CONSTRAINT unexpected CHECK (name <> 'x') NOT VALID`
  )
  t.equal(await createStatus(failing), 500)
  await fires(t, 'InternalErrors')
  await query(databaseUrl, 'ALTER TABLE categories DROP CONSTRAINT unexpected')
})

t.test('the replica gets no CPU', async (t) => {
  const during = async () => {
    service.child.kill('SIGSTOP')
    await sleep(700)
    service.child.kill('SIGCONT')
  }
  await fires(t, 'EventLoopBusy', { during })
})

t.test('one key floods', async (t) => {
  const flooding = await newKey()
  const during = () => createTimes(100, flooding)
  await fires(t, 'FloodByKey', { during })
})

t.test('keys are guessed', async (t) => {
  const during = () => createTimes(100, makeKey(apiKeyPrefix))
  await fires(t, 'KeysGuessed', { during, labels: { reason: 'unknown' } })
})

t.test('a revoked key is used', async (t) => {
  const revoked = await newKey()
  t.equal(await createStatus(revoked), 201)
  await query(
    databaseUrl,
    `UPDATE api_keys SET revoked_at = now()
     WHERE id = (SELECT max(id) FROM api_keys)`
  )
  const during = () => createTimes(100, revoked)
  await fires(t, 'KeysGuessed', { during, labels: { reason: 'revoked' } })
})

t.test('the proxy rejects the flood of a key', async (t) => {
  const flooding = await newKey()
  const during = () => createTimes(100, flooding, proxy.url)
  await fires(t, 'ProxyRejects', { during })
})

t.test('a migration is pending', async (t) => {
  const [deleted] = await query(
    databaseUrl,
    `DELETE FROM pgmigrations
     WHERE id = (SELECT max(id) FROM pgmigrations WHERE name !~ 'notes')
     RETURNING name`
  )
  await fires(t, 'MigrationPending', { during: readiness })

  await query(
    databaseUrl,
    'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
    [deleted?.['name']]
  )
  t.equal(await readiness(), 200)
})

t.test('what exporters find out', async (t) => {
  const inThreeDays = Date.now() / 1000 + 3 * 86400
  const twoDaysAgo = Date.now() / 1000 - 2 * 86400
  exporters.export({
    probe_ssl_earliest_cert_expiry: inThreeDays,
    node_timex_offset_seconds: 2,
    backup_last_success_timestamp_seconds: twoDaysAgo
  })

  await fires(t, 'CertificateExpires')
  await fires(t, 'ClockSkew')
  await fires(t, 'NoBackup')
})

const runs = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** A disk of its own for tables, until the test ends. */
async function mountDisk(t: Test): Promise<string> {
  const [row] = await query(databaseUrl, 'SHOW data_directory')
  const { uid } = statSync(String(row?.['data_directory']))
  const disk = mkdtempSync(path.join(tmpdir(), 'petcat-disk-'))
  const options = `size=16M,mode=0700,uid=${uid}`
  t.ok(runs('mount', '-t', 'tmpfs', '-o', options, 'none', disk))
  t.teardown(() => {
    runs('umount', '--lazy', disk)
    rmSync(disk, { recursive: true })
  })
  return disk
}

const asRoot = process.getuid?.() === 0 ? {} : { skip: 'mount needs root' }

// With its disk, the database is lost for the tests below.
t.test('the disk is full, then the database is killed', asRoot, async (t) => {
  const disk = await mountDisk(t)
  await query(databaseUrl, `CREATE TABLESPACE small LOCATION '${disk}'`)
  await query(databaseUrl, 'ALTER TABLE categories SET TABLESPACE small')
  const filler = writeFile(path.join(disk, 'filler'), Buffer.alloc(16 << 20))
  await t.rejects(filler, { code: 'ENOSPC' })

  exporters.exportDisk(disk)
  await fires(t, 'DiskFull')

  const filling = await newKey()
  const during = () => createTimes(20, filling)
  await fires(t, 'WritesFail', { during })
  t.equal((await getWithKey(await newKey(), 'categories')).status, 200)

  await postgres.kill()
  await fires(t, 'DatabaseDown', { during: createStatus })
  await fires(t, 'NoReplicaReady', { during: readiness })
})

/** Kills the replica. Resolves when Prometheus has noticed. */
async function killReplica(): Promise<void> {
  service.child.kill('SIGKILL')
  await service.exited
  await isUp(0)
}

const isUp = (up: 0 | 1) =>
  until(
    async () => (await prometheus.value('up{job="pet-categories"}')) === up,
    `the replica has up ${up}`,
    60
  )

t.test('the replica crashes again and again', async (t) => {
  const during = async () => {
    await killReplica()
    service = await startReplica()
    await isUp(1)
  }
  await fires(t, 'CrashLoop', { during })
})

t.test('the replica stays down', async (t) => {
  await killReplica()
  await fires(t, 'ReplicaDown')
  await fires(t, 'AllReplicasDown')
  await fires(t, 'ProxyHasNoReplica')
  const during = () => postNamed(proxy.url, makeKey(apiKeyPrefix), 'x')
  await fires(t, 'ProxyFails', { during })
})

t.test('each incident of docs/runbook.md was provoked', asRoot, (t) => {
  for (const incident of incidents) t.ok(provoked.has(incident), incident)
  t.end()
})
