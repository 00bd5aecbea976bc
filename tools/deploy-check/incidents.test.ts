// Provokes incidents of docs/runbook.md, while a Prometheus scrapes the service
// and its proxy: their metrics raise the alerts. promtool proves all rules. Run
// by `npm run rules --prefix tools/deploy-check`, which needs prometheus and
// haproxy.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
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
import { until } from '../../test/support/until.ts'
import { startHaproxy } from './haproxy.ts'
import {
  alerts,
  dashboardExpressions,
  firing,
  runbookItems,
  startPrometheus
} from './prometheus.ts'

const postgres = await startPostgres(t)
const { url: databaseUrl } = postgres
const metricsPort = await freePort()
const service = serve(t, {
  DATABASE_URL: databaseUrl,
  DATABASE_TIMEOUT_MS: '1000',
  METRICS_PORT: String(metricsPort),
  MAX_REQUESTS_PER_MINUTE: '100'
})
const url = await started(service)
const proxy = await startHaproxy(t, [url])
const evaluate = await startPrometheus(t, {
  'pet-categories': `127.0.0.1:${metricsPort}`,
  haproxy: `127.0.0.1:${proxy.metricsPort}`
})

const keys = new ApiKeyStore(openDatabase(t, databaseUrl), apiKeyPrefix, silent)
const key = await keys.create('test')
const guessed = makeKey(apiKeyPrefix)

/** Creates at once, with a new key, since each has few requests. */
async function create(count: number, apiKey?: string) {
  const sent = apiKey ?? (await keys.create('test'))
  const all = Array.from({ length: count }, () => postNamed(url, sent, 'x'))
  return (await Promise.all(all)).map(({ status }) => status)
}

const hasValue = async (expression: string) =>
  (await evaluate(expression)).length > 0

t.test('each alert is in docs/runbook.md, and a test of promtool', (t) => {
  const tests = readFileSync('deploy/observability/rules.test.yml', 'utf8')
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels.severity, /^(critical|warning|none)$/, alert)
    t.ok(annotations.summary, alert)
    t.match(runbookItems.get(annotations.runbook_url), `\`${alert}\``)
    t.match(tests, `alertname="${alert}"`)
  }
  t.end()
})

t.test('a service that works has no alert', async (t) => {
  t.same(await create(1, key), [201])
  const isScraped = () => hasValue('count_over_time((ready == 1)[5m:1s]) > 10')
  await until(isScraped, 'the rules have been evaluated', 60)
  const isCalm = async () => {
    const names = (await evaluate('ALERTS')).map((one) => one.metric.alertname)
    return names.join() === 'Watchdog'
  }
  await until(isCalm, 'there is no alert but Watchdog')
})

t.test('each expression of the dashboard has a value', async () => {
  const proxied = async () =>
    (await postNamed(proxy.url, guessed, 'x')).status === 401
  await until(proxied, 'the proxy finds the service')

  for (const expression of dashboardExpressions())
    await until(() => hasValue(expression), expression, 60)
})

t.test('a replica stays in use with all its connections', async (t) => {
  const replica = await started(serve(t, { DATABASE_URL: databaseUrl }))
  const { url: proxied, isReady } = await startHaproxy(t, [replica])
  const createProxied = () => postNamed(proxied, key, 'x')
  await until(isReady, 'the proxy finds the replica')

  // More than a replica accepts. The proxy passes on what it cannot keep of
  // their bodies, whose rest never comes.
  const creates = Array.from({ length: 2100 }, () =>
    request(`${proxied}/v1/categories`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': 60_000
      }
    }).on('error', () => {})
  )
  for (const one of creates) one.write(' '.repeat(40_000))
  const isRejected = async () => {
    const response = await createProxied()
    if (response.status === 201) return false
    t.match(await response.json(), { status: 503, code: 'unavailable' })
    return true
  }
  await until(isRejected, 'a create waits for a connection in vain')
  t.ok(await isReady())

  for (const one of creates) one.destroy()
  const isServed = async () => (await createProxied()).status === 201
  await until(isServed, 'creates are stored again')
})

const asRoot = process.getuid?.() === 0 ? {} : { skip: 'mount needs root' }

t.test('on a full disk, lists work, and creates wait', asRoot, async (t) => {
  const disk = mkdtempSync(path.join(tmpdir(), 'petcat-disk-'))
  const [row] = await query(databaseUrl, 'SHOW data_directory')
  const { uid } = statSync(String(row?.['data_directory']))
  const options = `size=16M,mode=0700,uid=${uid}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'none', disk])
  t.teardown(() => execFileSync('umount', [disk]))
  await query(databaseUrl, `CREATE TABLESPACE small LOCATION '${disk}'`)
  await query(databaseUrl, 'ALTER TABLE categories SET TABLESPACE small')

  const filler = path.join(disk, 'filler')
  await t.rejects(writeFile(filler, Buffer.alloc(16 << 20)), { code: 'ENOSPC' })
  const isFull = async () => (await create(20)).includes(503)
  await until(isFull, 'creates fail')
  const headers = { authorization: `Bearer ${await keys.create('test')}` }
  t.equal((await fetch(`${url}/v1/categories`, { headers })).status, 200)

  rmSync(filler)
  const hasRoom = async () => (await create(1)).includes(201)
  await until(hasRoom, 'creates are stored again')
  await query(databaseUrl, 'ALTER TABLE categories SET TABLESPACE pg_default')
  await query(databaseUrl, 'DROP TABLESPACE small')
})

interface Incident {
  alerts: string[]
  /** What provokes it. */
  start?: (t: Test) => unknown
  /** What goes on until the alerts fire. */
  goesOn?: () => Promise<unknown>
}

/** The later ones leave no database, and no replica. */
const incidents: Record<string, Incident> = {
  'nothing consumes the queue': {
    alerts: ['QueueStale'],
    start: () =>
      query(
        databaseUrl,
        `INSERT INTO messages (id, message, created_at)
         VALUES (gen_random_uuid(), 'x', now() - interval '1 hour')`
      )
  },
  'a key in use expires': {
    alerts: ['KeyExpires'],
    start: () =>
      query(
        databaseUrl,
        `UPDATE api_keys SET expires_at = now() + interval '1 day'`
      )
  },
  'a table is locked': {
    alerts: ['StatementsTimeOut', 'ErrorBudgetBurnsFast', 'SlowRequests'],
    start: (t) => lockTable(t, databaseUrl, 'categories'),
    goesOn: () => create(20)
  },
  'one key floods': {
    alerts: ['FloodByKey', 'ClientErrors'],
    goesOn: () => create(100, key)
  },
  'an operation fails': {
    alerts: ['InternalErrors'],
    start: () =>
      query(
        databaseUrl,
        `ALTER TABLE categories
         ADD CONSTRAINT unexpected CHECK (name <> 'x') NOT VALID`
      ),
    goesOn: () => create(1)
  },
  'the database is killed': {
    alerts: ['DatabaseDown', 'NoReplicaReady'],
    start: () => postgres.kill(),
    goesOn: () => create(1, key)
  },
  'the replica stays down': {
    alerts: ['ReplicaDown', 'AllReplicasDown', 'ProxyHasNoReplica'],
    start: () => service.child.kill('SIGKILL'),
    goesOn: () => postNamed(proxy.url, guessed, 'x')
  }
}

for (const [title, incident] of Object.entries(incidents)) {
  t.test(title, async (t) => {
    await incident.start?.(t)
    for (const name of incident.alerts) {
      const fires = async () => {
        await incident.goesOn?.()
        return hasValue(firing(name))
      }
      await until(fires, `the alert ${name} fires`, 180)
    }
  })
}
