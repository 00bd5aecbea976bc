// A Prometheus that evaluates deploy/observability/rules.yml, for tests.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { until } from '../../test/support/until.ts'

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
  const hasty = readFileSync('deploy/observability/rules.yml', 'utf8')
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
