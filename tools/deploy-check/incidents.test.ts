// Provokes incidents of docs/runbook.md, while a Prometheus scrapes the service
// and its proxy: their metrics raise the alerts. promtool proves all rules. Run
// by `npm run rules --prefix tools/deploy-check`, which needs prometheus and
// haproxy.
import { readFileSync } from 'node:fs'
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
import { firing, startPrometheus } from './prometheus.ts'

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
const proxy = await startHaproxy(t, url)
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
  const rules = readFileSync('deploy/observability/rules.yml', 'utf8')
  const tests = readFileSync('deploy/observability/rules.test.yml', 'utf8')
  const runbook = readFileSync('docs/runbook.md', 'utf8')
  const alerts = rules.matchAll(/alert: (\w+)[^]*?runbook_url: .+(#.+)/g)
  for (const [, alert, anchor] of alerts) {
    const item = new RegExp(`^- .*\\(${anchor}\\)[^]*?(?=^- |^$)`, 'm')
    t.match(item.exec(runbook)?.[0], `\`${alert}\``)
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

t.test('each expression of the dashboard has a value', async (t) => {
  t.equal((await postNamed(proxy.url, guessed, 'x')).status, 401)
  const dashboard = readFileSync('deploy/observability/dashboard.json', 'utf8')
  const expressions = dashboard.match(/(?<="expr": )".+"/g) ?? []
  t.ok(expressions.length > 10)
  for (const quoted of expressions) {
    const expression = String(JSON.parse(quoted))
    await until(() => hasValue(expression), expression, 60)
  }
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
