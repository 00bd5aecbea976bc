// The rules in deploy/observability, as text. Run by
// `npm run rules --prefix tools/deploy-check`, after promtool.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { alerts, folder, incidents, rules } from './observability.ts'

t.test('each alert says how urgent it is, what it is and what to do', (t) => {
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels?.severity, /^(critical|warning)$/, alert)
    t.ok(annotations?.summary, alert)
    t.ok(incidents.includes(String(annotations?.runbook_url)), alert)
  }
  t.end()
})

t.test('each incident of docs/runbook.md has an alert', (t) => {
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
