// Provokes the incidents of docs/runbook.md, while a Prometheus scrapes the
// service and its proxy: their alerts fire. Run by
// `npm run rules --prefix tools/deploy-check`, which needs prometheus and
// haproxy.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../../generated/names.ts'
import { makeKey } from '../../src/framework/keys/key.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import {
  lockTable,
  openDatabase,
  query,
  silent
} from '../../test/support/database.ts'
import { postNamed, serve, started } from '../../test/support/process.ts'
import { freePort, startPostgres } from '../../test/support/postgres.ts'
import { sendRaw } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import {
  alerts,
  dashboardExpressions,
  incidents,
  promtoolTests,
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
    METRICS_PORT: String(metricsPort),
    MAX_REQUESTS_PER_MINUTE: '100'
  })
  await started(replica)
  return replica
}

let service = await startReplica()
const proxy = await startHaproxy(t, [url])
const prometheus = await Prometheus.start(t, writeHastyRules(), {
  'pet-categories': [`127.0.0.1:${metricsPort}`],
  haproxy: [`127.0.0.1:${proxy.metricsPort}`]
})

const sql = (statement: string) => query(databaseUrl, statement)
const keys = new ApiKeyStore(openDatabase(t, databaseUrl), apiKeyPrefix, silent)
const newKey = () => keys.create('test')
const readiness = async () => (await fetch(`${url}/readyz`)).status
const createTimes = (count: number, apiKey: string) =>
  Promise.all(Array.from({ length: count }, () => postNamed(url, apiKey, 'x')))

const getWithKey = (apiKey: string, resource: string, headers = {}) =>
  fetch(`${url}/v1/${resource}`, {
    headers: { authorization: `Bearer ${apiKey}`, ...headers }
  })

const key = await newKey()
const createStatus = async (apiKey = key) =>
  (await postNamed(url, apiKey, 'x')).status

/** What goes on until the alerts of an incident fire. */
type GoesOn = () => Promise<unknown>

/** Resolves when an alert fires. */
async function fires(name: string, goesOn: GoesOn): Promise<void> {
  const isFiring = async () => {
    await goesOn()
    return prometheus.fires(name)
  }
  await until(isFiring, `the alert ${name} fires`, 180)
}

/**
 * Provokes an incident, until its alerts fire.
 *
 * @param provoke returns what goes on until then
 */
function incident(
  title: string,
  names: string[],
  provoke: (t: Test) => GoesOn | Promise<GoesOn>
): void {
  t.test(title, async (t) => {
    const goesOn = await provoke(t)
    for (const name of names) await fires(name, goesOn)
  })
}

t.test('each alert is in docs/runbook.md, and a test', (t) => {
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels.severity, /^(critical|warning|none)$/, alert)
    t.ok(annotations.summary, alert)
    t.match(incidents.get(annotations.runbook_url), `\`${alert}\``)
    t.match(promtoolTests, `alertname="${alert}"`)
  }
  t.end()
})

t.test('a service that works has no alert', async (t) => {
  t.equal(await readiness(), 200)
  t.equal(await createStatus(), 201)

  const scrapes = 'count_over_time((ready == 1)[5m:1s]) > 10'
  const isScraped = async () => (await prometheus.count(scrapes)) > 0
  await until(isScraped, 'the rules have been evaluated', 60)
  const isCalm = async () => (await prometheus.alerts()).length === 1
  await until(isCalm, 'there is no alert but Watchdog')
  await fires('Watchdog', readiness)
})

t.test('each expression of the dashboard has a value', async () => {
  const proxied = async () =>
    (await postNamed(proxy.url, makeKey(apiKeyPrefix), 'x')).status === 401
  await until(proxied, 'the proxy finds the service')

  for (const { title, expr } of dashboardExpressions()) {
    const hasValue = async () => (await prometheus.count(expr)) > 0
    await until(hasValue, `${title}: ${expr}`, 60)
  }
})

incident('a proxy is not trusted', ['ClientAddressesWrong'], async () => {
  const proxied = await newKey()
  const headers = { 'x-forwarded-for': '192.0.2.1' }
  return () => getWithKey(proxied, 'categories', headers)
})

incident('nothing consumes the queue', ['QueueStale'], async () => {
  await sql(
    `INSERT INTO messages (id, message, created_at)
     VALUES (gen_random_uuid(), 'x', now() - interval '1 hour')`
  )
  return readiness
})

const lastKey = 'WHERE id = (SELECT max(id) FROM api_keys)'

incident('a key in use expires', ['KeyExpires'], async (t) => {
  const expiring = await newKey()
  await sql(
    `UPDATE api_keys SET expires_at = now() + interval '1 day' ${lastKey}`
  )
  t.equal(await createStatus(expiring), 201)
  return readiness
})

incident(
  'a table is locked',
  ['StatementsTimeOut', 'ErrorBudgetBurnsFast', 'SlowRequests'],
  async (t) => {
    await lockTable(t, databaseUrl, 'categories')
    return async () => {
      // Each key has few requests. Those of other incidents have succeeded.
      const waiting = await newKey()
      await Promise.all([
        createTimes(20, waiting),
        getWithKey(waiting, 'categories')
      ])
    }
  }
)

incident('an operation fails', ['InternalErrors'], async (t) => {
  const failing = await newKey()
  await sql(
    `ALTER TABLE categories
     ADD CONSTRAINT unexpected CHECK (name <> 'x') NOT VALID`
  )
  t.equal(await createStatus(failing), 500)
  await sql('ALTER TABLE categories DROP CONSTRAINT unexpected')
  return readiness
})

incident('the replica gets no CPU', ['EventLoopBusy'], () => async () => {
  service.child.kill('SIGSTOP')
  await sleep(700)
  service.child.kill('SIGCONT')
})

incident('one key floods', ['FloodByKey', 'ClientErrors'], async () => {
  const flooding = await newKey()
  return () => createTimes(100, flooding)
})

incident(
  'keys are guessed',
  ['KeysGuessed'],
  () => () => createTimes(100, makeKey(apiKeyPrefix))
)

incident('clients send malformed HTTP', ['ProxyRejects'], () => {
  const proxyPort = Number(new URL(proxy.url).port)
  const sendNonsense = () => sendRaw(proxyPort, 'nonsense\r\n\r\n')
  return () => Promise.all(Array.from({ length: 100 }, sendNonsense))
})

t.test('a replica stays in use with all its connections', async (t) => {
  const replica = await started(serve(t, { DATABASE_URL: databaseUrl }))
  const { url: proxied, isReady } = await startHaproxy(t, [replica])
  const flooding = await newKey()
  const create = () => postNamed(proxied, flooding, 'x')
  await until(isReady, 'the proxy finds the replica')

  // More than a replica accepts. The proxy passes on what it cannot keep of
  // their bodies, whose rest never comes.
  const creates = Array.from({ length: 2100 }, () =>
    request(`${proxied}/v1/categories`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${flooding}`,
        'content-type': 'application/json',
        'content-length': 60_000
      }
    }).on('error', () => {})
  )
  for (const one of creates) one.write(' '.repeat(40_000))
  const isRejected = async () => {
    const response = await create()
    if (response.status === 201) return false
    t.match(await response.json(), { status: 503, code: 'unavailable' })
    return true
  }
  await until(isRejected, 'a create waits for a connection in vain')
  t.ok(await isReady())

  for (const one of creates) one.destroy()
  const isServed = async () => (await create()).status === 201
  await until(isServed, 'creates are stored again')
})

incident('a migration is pending', ['MigrationPending'], async (t) => {
  const [deleted] = await sql(
    `DELETE FROM pgmigrations
     WHERE id = (SELECT max(id) FROM pgmigrations WHERE name !~ 'notes')
     RETURNING name`
  )
  t.teardown(() =>
    sql(
      `INSERT INTO pgmigrations (name, run_on)
       VALUES ('${String(deleted?.['name'])}', now())`
    )
  )
  return readiness
})

const runs = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** A disk of its own for tables, until the test ends. */
async function mountDisk(t: Test): Promise<string> {
  const [row] = await sql('SHOW data_directory')
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
  await sql(`CREATE TABLESPACE small LOCATION '${disk}'`)
  await sql('ALTER TABLE categories SET TABLESPACE small')
  const filler = path.join(disk, 'filler')
  await t.rejects(writeFile(filler, Buffer.alloc(16 << 20)), { code: 'ENOSPC' })
  const filling = await newKey()
  await fires('WritesFail', () => createTimes(20, filling))
  t.equal((await getWithKey(await newKey(), 'categories')).status, 200)

  rmSync(filler)
  const hasRoom = async () => (await createStatus(await newKey())) === 201
  await until(hasRoom, 'creates are stored again')

  await postgres.kill()
  await fires('DatabaseDown', createStatus)
  await fires('NoReplicaReady', readiness)
})

/** Kills the replica. Resolves when Prometheus has noticed. */
async function killReplica(): Promise<void> {
  service.child.kill('SIGKILL')
  await service.exited
  await isUp(0)
}

const isUp = (up: 0 | 1) =>
  until(
    () => prometheus.count(`up{job="pet-categories"} == ${up}`),
    `the replica has up ${up}`,
    60
  )

incident(
  'the replica crashes again and again',
  ['CrashLoop'],
  () => async () => {
    await killReplica()
    service = await startReplica()
    await isUp(1)
  }
)

incident(
  'the replica stays down',
  ['ReplicaDown', 'AllReplicasDown', 'ProxyHasNoReplica', 'ProxyFails'],
  async () => {
    await killReplica()
    return () => postNamed(proxy.url, makeKey(apiKeyPrefix), 'x')
  }
)
