import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { until } from '../../test/support/until.ts'

/** Seconds, and the value as text. */
type Sample = [number, string]

/** An alert that is pending or firing. */
interface Alert {
  labels: Record<string, string>
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

  /** Whether an alert with these labels has one of these states. */
  async has(
    labels: Record<string, string>,
    ...states: Alert['state'][]
  ): Promise<boolean> {
    const expected = Object.entries(labels)
    const alerts = await this.alerts()
    return alerts.some(
      (alert) =>
        states.includes(alert.state) &&
        expected.every(([label, value]) => alert.labels[label] === value)
    )
  }

  /** The first value of an expression; NaN if it has none. */
  async value(expression: string): Promise<number> {
    const [first] = await this.#values(expression)
    return Number(first?.value[1] ?? NaN)
  }

  /** How many values an expression has. */
  async count(expression: string): Promise<number> {
    return (await this.#values(expression)).length
  }

  async #values(expression: string) {
    const query = `query?query=${encodeURIComponent(expression)}`
    const { result } = await this.#get<{ result: { value: Sample }[] }>(query)
    return result
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
