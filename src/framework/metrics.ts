// The metrics of the framework. Other files add gauges that read their own
// values. docs/metrics.md has a row for each.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

declare module 'fastify' {
  interface FastifyInstance {
    metrics: Metrics
  }
}

const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]
/** Fewer buckets, because each statement and outcome has a histogram. */
const statementBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5]

const databaseErrorCodes = [
  'unavailable',
  'outcome_unknown',
  'constraint_violated',
  'internal_error'
]

/**
 * - ok
 * - timeout: the service cancelled it after DATABASE_TIMEOUT_MS.
 * - failed: for another reason.
 */
const statementOutcomes = ['ok', 'timeout', 'failed']

/**
 * The metrics of one replica.
 *
 * Each series that an alert counts exists from the start, with 0: increase()
 * does not see the first failure of a series that begins with it.
 */
export class Metrics {
  readonly registry = new Registry()

  readonly buildInfo = this.gauge(
    'build_info',
    'Always 1; the labels are the version and ENVIRONMENT of the service',
    ['version', 'environment']
  )

  readonly requestDuration = this.#histogram(
    'http_request_duration_seconds',
    'Time from the headers of a request to the end of its response',
    durationBuckets,
    ['operation', 'status']
  )

  readonly httpErrors = this.#counter(
    'http_errors_total',
    'Errors, by the code in the body; aborted if the response was not sent completely',
    ['operation', 'code']
  )

  readonly ready = this.gauge(
    'ready',
    '1 if the last request for /readyz got 200, otherwise 0'
  )

  readonly rateLimited = this.#counter(
    'rate_limited_total',
    'Requests over MAX_REQUESTS_PER_MINUTE'
  )

  readonly authFailures = this.#counter(
    'auth_failures_total',
    'Requests without a valid API key, by the state of the API key',
    ['reason'],
    ['absent', 'malformed', 'unknown', 'revoked', 'expired']
  )

  readonly databaseErrors = this.#counter(
    'database_errors_total',
    `Failed statements, by error code: ${databaseErrorCodes.join(', ')}`,
    ['code'],
    databaseErrorCodes
  )

  readonly databaseFailure = this.gauge(
    'database_last_failure_timestamp_seconds',
    'When the database was last unavailable for this purpose, or 0',
    ['purpose']
  )

  readonly statementDuration = this.#histogram(
    'database_statement_seconds',
    'Time that PostgreSQL needs for a statement: ok, timeout or failed',
    statementBuckets,
    ['statement', 'outcome']
  )

  readonly pendingMigrations = this.gauge(
    'migrations_pending',
    'Migrations that the database lacks, at the last check'
  )

  readonly housekeepingSuccess = this.gauge(
    'housekeeping_last_success_timestamp_seconds',
    'Last success of a removal of old records, or the start of the service',
    // Prometheus itself adds a label `job`.
    ['task']
  )

  /** Makes a gauge. `collect` sets it at each scrape. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    collect: (gauge: Gauge<Label>) => void = () => {}
  ): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        collect(this)
      }
    })
  }

  /** Creates the series of each outcome, at 0. */
  initializeStatement(statement: string): void {
    for (const outcome of statementOutcomes)
      this.statementDuration.zero({ statement, outcome })
  }

  /** @param values of its only label, if they are known */
  #counter<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    values: string[] = []
  ): Counter<Label> {
    const registers = [this.registry]
    const counter = new Counter({ name, help, labelNames, registers })
    for (const value of values) counter.labels(value).inc(0)
    return counter
  }

  #histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = []
  ): Histogram<Label> {
    const registers = [this.registry]
    return new Histogram({ name, help, buckets, labelNames, registers })
  }
}
