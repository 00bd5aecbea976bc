// The rules in deploy/observability, with a Prometheus that scrapes the service
// while incidents are provoked. Run by `npm run rules --prefix
// tools/deploy-check`, which needs prometheus and promtool.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { makeKey } from '../../src/api-keys/key.ts'
import { lockTable, query } from '../../test/support/database.ts'
import { post, run, serve, started } from '../../test/support/process.ts'
import { freePort, startPostgres } from '../../test/support/postgres.ts'
import { createKeyIn } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { Prometheus } from './prometheus.ts'

const folder = 'deploy/observability'

interface Rule {
  alert?: string
  record?: string
  expr: string
  labels?: { severity?: string }
  annotations?: { summary?: string; runbook_url?: string }
}

const rulesFile = parse(readFileSync(`${folder}/rules.yml`, 'utf8')) as {
  groups: { rules: Rule[] }[]
}
const rules = rulesFile.groups.flatMap((group) => group.rules)
const alerts = rules.flatMap((rule) =>
  rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]
)

const operations = readFileSync('docs/operations.md', 'utf8')

/** The anchors of the incidents in the table of docs/operations.md. */
const incidents = [
  ...operations.matchAll(/^\| \[.+?\]\(#(incident-[\w-]+)\)/gm)
].map(([, anchor]) => `docs/operations.md#${anchor}`)

t.test('each alert says how urgent it is, what it is and what to do', (t) => {
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels?.severity, /^(critical|warning)$/, alert)
    t.ok(annotations?.summary, alert)
    t.ok(incidents.includes(String(annotations?.runbook_url)), alert)
  }
  t.end()
})

t.test('each incident of docs/operations.md has an alert', (t) => {
  t.ok(incidents.length > 10)
  const runbooks = alerts.map(({ annotations }) => annotations?.runbook_url)
  for (const incident of incidents) t.ok(runbooks.includes(incident), incident)
  t.end()
})

t.test('each alert fires in a test of promtool', (t) => {
  const tests = readFileSync(`${folder}/rules.test.yml`, 'utf8')
  for (const { alert } of alerts)
    t.match(tests, `{alertname="${alert}", alertstate="firing"}`)
  t.end()
})

/** The metrics of others: of Node.js, of Prometheus, and of exporters. */
const otherMetrics =
  /^(nodejs|process|haproxy|node|kubelet|kube|cnpg|probe)_|^up$|^backup_last_success_timestamp_seconds$/

t.test('each rule uses metrics that exist', (t) => {
  const page = readFileSync('docs/metrics.md', 'utf8')
  const records = new Set(rules.map(({ record }) => record))

  for (const { expr } of rules) {
    for (const name of metricsIn(expr)) {
      const metric = name.replace(/_(bucket|sum|count)$/, '')
      const isKnown = records.has(name) || otherMetrics.test(name)
      t.ok(isKnown || page.includes(`| \`${metric}\` `), name)
    }
  }
  t.end()
})

/** The names in an expression that are no functions, keywords or labels. */
function metricsIn(expr: string): string[] {
  const withoutLabels = expr
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\b(by|on) \([^)]*\)/g, '')
  const names = withoutLabels.matchAll(/[a-z][a-z0-9_:]*(?![a-z0-9_:]|\s*\()/g)
  return [...names]
    .map(([name]) => name)
    .filter((name) => /[_:]|^up$/.test(name))
}

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[]
}

/** The expressions of the dashboard, each with the title of its panel. */
function dashboardExpressions() {
  const text = readFileSync(`${folder}/dashboard.json`, 'utf8')
  const { panels } = JSON.parse(text) as Dashboard

  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr }))
  )
}

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
const key = await createKeyIn(databaseUrl)
const proxy = await startProxy(url)
const prometheus = await Prometheus.start(t, `${folder}/rules.yml`, {
  'pet-categories': `127.0.0.1:${metricsPort}`,
  haproxy: `127.0.0.1:${proxy.metricsPort}`
})

/** Starts the proxy of compose in front of the service. */
async function startProxy(serviceUrl: string) {
  const port = await freePort()
  const proxyMetricsPort = await freePort()
  const configuration = readFileSync('deploy/haproxy.cfg', 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('bind :8405', `bind 127.0.0.1:${proxyMetricsPort}`)
    .replace('127.0.0.1:9999', `127.0.0.1:${await freePort()}`)
    .replaceAll('/etc/haproxy', path.resolve('deploy'))
    .replace(/server-template .*/, `server api1 ${new URL(serviceUrl).host}`)
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'petcat-')), 'cfg')
  writeFileSync(file, configuration)

  const env = {
    TLS: 'off',
    MAX_CONNECTIONS_PER_SOURCE: '0',
    MAX_REQUESTS_PER_KEY: '10'
  }
  run(t, ['haproxy', '-W', '-db', '-f', file], { env })
  return { url: `http://127.0.0.1:${port}`, metricsPort: proxyMetricsPort }
}

const readiness = async () => (await fetch(`${url}/readyz`)).status
const create = async (apiKey = key) => (await post(url, apiKey, 'x')).status
const createTimes = (count: number, apiKey: string, target = url) =>
  Promise.all(Array.from({ length: count }, () => post(target, apiKey, 'x')))

/** Resolves when there is the alert, while something goes on. */
async function alertOf(
  name: string,
  goOn: () => Promise<unknown> = () => Promise.resolve()
): Promise<void> {
  const isAlerted = async () => {
    await goOn()
    return (await prometheus.alerts()).includes(name)
  }
  await until(isAlerted, `the alert ${name}`, 120)
}

t.test('a service that works has no alert', async (t) => {
  t.equal(await readiness(), 200)
  t.equal(await create(), 201)

  const scrapes = 'count_over_time((ready == 1)[5m:1s])'
  const isScraped = async () => (await prometheus.value(scrapes)) > 10
  await until(isScraped, 'the rules have been evaluated', 60)
  const isCalm = async () => (await prometheus.alerts()).length === 0
  await until(isCalm, 'there is no alert')
})

t.test('each expression of the dashboard has a value', async (t) => {
  const proxied = async () =>
    (await post(proxy.url, makeKey(), 'x')).status === 401
  await until(proxied, 'the proxy finds the service')

  for (const { title, expr } of dashboardExpressions()) {
    const hasValue = async () => (await prometheus.count(expr)) > 0
    await until(hasValue, `${title}: ${expr}`, 60)
    t.pass(title)
  }
})

t.test('nothing consumes the queue', async () => {
  await query(
    databaseUrl,
    `INSERT INTO messages (id, message, created_at)
     VALUES (gen_random_uuid(), 'x', now() - interval '1 hour')`
  )
  await alertOf('QueueStale')
})

t.test('a table is locked', async (t) => {
  const lock = await lockTable(t, databaseUrl, 'categories')
  await alertOf('StatementsTimeOut', create)
  await lock.release()
})

t.test('one key floods', async () => {
  const flooding = await createKeyIn(databaseUrl)
  await alertOf('FloodByKey', () => createTimes(100, flooding))
})

t.test('keys are guessed', async () => {
  await alertOf('KeysGuessed', () => createTimes(100, makeKey()))
})

t.test('the proxy rejects the flood of a key', async () => {
  const flooding = await createKeyIn(databaseUrl)
  await alertOf('ProxyRejects', () => createTimes(100, flooding, proxy.url))
})

t.test('a migration is pending', async (t) => {
  const [deleted] = await query(
    databaseUrl,
    `DELETE FROM pgmigrations
     WHERE id = (SELECT max(id) FROM pgmigrations WHERE name !~ 'notes')
     RETURNING name`
  )
  await alertOf('MigrationPending', readiness)

  await query(
    databaseUrl,
    'INSERT INTO pgmigrations (name, run_on) VALUES ($1, now())',
    [deleted?.['name']]
  )
  t.equal(await readiness(), 200)
})

t.test('the database is killed', async () => {
  await postgres.kill()
  await alertOf('DatabaseDown', create)
  await alertOf('NoReplicaReady', readiness)
})

t.test('the replica is killed', async () => {
  service.child.kill('SIGKILL')
  await service.exited
  await alertOf('ReplicaDown')
  await alertOf('AllReplicasDown')
  await alertOf('ProxyHasNoReplica')
  await alertOf('ProxyFails', () => post(proxy.url, makeKey(), 'x'))
})
