// What deploy/observability and docs/runbook.md have, and a Prometheus that
// evaluates it, for their tests.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { until } from '../../test/support/until.ts'

const folder = 'deploy/observability'

interface Alert {
  alert: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}

interface RulesFile {
  groups: { rules: ({ record: string } | Alert)[] }[]
}

const rulesText = readFileSync(`${folder}/rules.yml`, 'utf8')
const { groups } = parse(rulesText) as RulesFile

export const alerts = groups
  .flatMap(({ rules }) => rules)
  .filter((rule) => 'alert' in rule)

const runbook = readFileSync('docs/runbook.md', 'utf8')

/** The items of the list of docs/runbook.md, by the `runbook_url`. */
export const runbookItems = new Map(
  [...runbook.matchAll(/^- \[.+?\]\(#(incident-[\w-]+)\)(?:.|\n {2})*/gm)].map(
    ([item, anchor]) => [`docs/runbook.md#${anchor}`, item]
  )
)

/** The expressions of the dashboard. */
export function dashboardExpressions(): string[] {
  const text = readFileSync(`${folder}/dashboard.json`, 'utf8')
  const { panels } = JSON.parse(text) as {
    panels: { targets?: { expr: string }[] }[]
  }
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

/**
 * Starts a Prometheus, until the test ends. It scrapes and evaluates its rules
 * every second, and the minutes of their `for` are seconds.
 *
 * @param targets the address of each job
 */
export async function startPrometheus(
  t: Test,
  targets: Record<string, string>
) {
  // npm test removes it. t.testdir() would remove that of the service.
  const data = mkdtempSync(path.join(tmpdir(), 'petcat-prometheus-'))
  const rules = path.join(data, 'rules.yml')
  const hasty = rulesText
    .replaceAll('for: 30s', 'for: 1s')
    .replaceAll(/(for: \d+)m$/gm, '$1s')
  writeFileSync(rules, hasty)
  const file = path.join(data, 'prometheus.yml')
  const configuration = {
    global: {
      scrape_interval: '1s',
      scrape_timeout: '1s',
      evaluation_interval: '1s'
    },
    rule_files: [rules],
    scrape_configs: Object.entries(targets).map(([job, address]) => ({
      job_name: job,
      static_configs: [{ targets: [address] }]
    }))
  }
  writeFileSync(file, stringify(configuration))

  const address = `127.0.0.1:${await freePort()}`
  run(t, [
    'prometheus',
    `--config.file=${file}`,
    `--storage.tsdb.path=${path.join(data, 'data')}`,
    `--web.listen-address=${address}`
  ])
  const evaluate = prometheusAt(`http://${address}`)
  const responds = () => evaluate('1').then(Boolean, () => false)
  await until(responds, 'Prometheus responds', 60)

  return evaluate
}

/** Makes the function that returns the values of an expression. */
export function prometheusAt(url: string) {
  return async (expression: string) => {
    const query = `query?query=${encodeURIComponent(expression)}`
    const response = await fetch(`${url}/api/v1/${query}`)
    const body = (await response.json()) as {
      data: { result: { metric: { alertname?: string } }[] }
    }
    return body.data.result
  }
}

/** The expression that has a value while an alert fires. */
export const firing = (alert: string) =>
  `ALERTS{alertname="${alert}",alertstate="firing"}`
