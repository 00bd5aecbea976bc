import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { freePort } from '../../test/support/postgres.ts'
import { run, type Running } from '../../test/support/process.ts'

const page = 'docs/traces.md'

const program = execFileSync('tools/deploy-check/collector.sh', {
  stdio: ['ignore', 'pipe', 'inherit']
})
  .toString()
  .trim()

/** Such as `otelcol version 0.165.0`. */
export const version = execFileSync(program, ['--version']).toString().trim()

/** The configuration of a collector, as far as the test changes it. */
interface Configuration {
  receivers: { otlp: { protocols: { http: { endpoint: string } } } }
  exporters: { otlp_http: Record<string, string> }
  service: Record<string, object>
}

/** What its own metrics count. */
type Count =
  | 'receiver_accepted_spans'
  | 'receiver_refused_spans'
  | 'receiver_failed_spans'
  | 'exporter_sent_spans'
  | 'exporter_send_failed_spans'

/** An OpenTelemetry Collector with the configuration of docs/traces.md. */
export class Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string
  readonly #t: Test
  readonly #metricsUrl: string
  readonly #file: string
  #process: Running | undefined

  private constructor(t: Test, port: number, metricsPort: number) {
    this.#t = t
    this.endpoint = `http://127.0.0.1:${port}`
    this.#metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
    // npm test removes it.
    const folder = mkdtempSync(path.join(tmpdir(), 'petcat-collector-'))
    this.#file = path.join(folder, 'collector.yaml')
  }

  /**
   * Prepares a collector, which `start` starts.
   *
   * @param backend receives what it exports
   */
  static async prepare(t: Test, backend: string): Promise<Collector> {
    const port = await freePort()
    const metricsPort = await freePort()
    const collector = new Collector(t, port, metricsPort)
    const configuration = configurationWith(port, metricsPort, backend)
    writeFileSync(collector.#file, stringify(configuration))
    return collector
  }

  /** Starts it, until the test ends. */
  async start(): Promise<void> {
    this.#process = run(this.#t, [program, '--config', this.#file])
    await this.#process.sees(/Everything is ready/)
  }

  async kill(): Promise<void> {
    this.#signal('SIGKILL')
    await this.#process?.exited
  }

  /** It accepts connections, and never responds. */
  freeze(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  /** Spans since its start; 0 if the metric does not exist yet. */
  async count(name: Count): Promise<number> {
    const response = await fetch(this.#metricsUrl)
    const text = await response.text()
    const [, value = 0] =
      new RegExp(`^otelcol_${name}{.*} (.+)$`, 'm').exec(text) ?? []
    return Number(value)
  }

  #signal(signal: NodeJS.Signals): void {
    this.#process?.child.kill(signal)
  }
}

/** The documented configuration, with the addresses of the test. */
function configurationWith(
  port: number,
  metricsPort: number,
  backend: string
): Configuration {
  const configuration = documentedConfiguration()
  const prometheus = { host: '127.0.0.1', port: metricsPort }

  configuration.receivers.otlp.protocols.http.endpoint = `127.0.0.1:${port}`
  configuration.exporters.otlp_http = {
    endpoint: backend,
    // What the receiver of the test reads.
    encoding: 'json',
    compression: 'none'
  }
  configuration.service['telemetry'] = {
    metrics: { readers: [{ pull: { exporter: { prometheus } } }] }
  }
  return configuration
}

function documentedConfiguration(): Configuration {
  const [, yaml = ''] =
    /^```yaml\n(.*?)^```$/ms.exec(readFileSync(page, 'utf8')) ?? []
  return parse(yaml) as Configuration
}
