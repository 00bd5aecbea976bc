import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { until } from '../../test/support/until.ts'

/** An alert that is pending or firing. */
interface Alert {
  labels: { alertname: string }
  state: 'pending' | 'firing'
}

/** A Prometheus that scrapes and evaluates its rules every second. */
export class Prometheus {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /**
   * Starts it, until the test ends.
   *
   * @param targets addresses of each job
   */
  static async start(
    t: Test,
    rules: string,
    targets: Record<string, string[]>
  ): Promise<Prometheus> {
    // npm test removes it. t.testdir() would remove that of the service.
    const folder = mkdtempSync(path.join(tmpdir(), 'petcat-prometheus-'))
    const file = path.join(folder, 'prometheus.yml')
    writeFileSync(file, configuration(rules, targets))

    const address = `127.0.0.1:${await freePort()}`
    run(t, [
      'prometheus',
      `--config.file=${file}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${address}`
    ])

    const prometheus = new Prometheus(`http://${address}`)
    const responds = () => prometheus.alerts().then(Boolean, () => false)
    await until(responds, 'Prometheus responds', 60)
    return prometheus
  }

  /** The alerts that are pending or firing. */
  async alerts() {
    return (await this.#get<{ alerts: Alert[] }>('alerts')).alerts
  }

  /** Whether an alert with this name fires. */
  async fires(name: string): Promise<boolean> {
    const alerts = await this.alerts()
    return alerts.some(
      ({ labels, state }) => labels.alertname === name && state === 'firing'
    )
  }

  /** How many values an expression has. */
  async count(expression: string): Promise<number> {
    const query = `query?query=${encodeURIComponent(expression)}`
    return (await this.#get<{ result: unknown[] }>(query)).result.length
  }

  async #get<Data>(resource: string): Promise<Data> {
    const response = await fetch(`${this.#url}/api/v1/${resource}`)
    const { data } = (await response.json()) as { data?: Data }
    if (data === undefined) throw new Error(`Prometheus: ${resource}`)
    return data
  }
}

function configuration(
  rules: string,
  targets: Record<string, string[]>
): string {
  return stringify({
    global: {
      scrape_interval: '1s',
      scrape_timeout: '1s',
      evaluation_interval: '1s'
    },
    rule_files: [path.resolve(rules)],
    scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
      job_name: job,
      static_configs: [{ targets: addresses }]
    }))
  })
}
