// docs/metrics.md, from the metrics that the service registers.
import { api } from '../../src/handlers/index.ts'
import { formatMarkdown, tableOf } from './markdown.ts'
import { idleDatabase } from './statements.ts'

/** When an operator looks at a metric. */
const whenToLook: Record<string, string> = {
  build_info: 'After an upgrade: which replicas run which version',
  http_request_duration_seconds:
    'Always: rate, errors and duration of each operation. ' +
    '`operation="none"` is a health check, the docs or an unknown path',
  http_requests_in_flight: 'Requests are slow: it grows while they wait',
  http_errors_total:
    'Errors: which `code`. `operation="none"` is a path outside the API',
  http_parser_errors_total:
    'Clients report 400, 408 or 431 that are in no other metric: the ' +
    'log has no line of such requests either',
  http_untrusted_forwards_total:
    'The log has one address for all clients: `TRUST_PROXY` is missing. ' +
    'Anyone can send `X-Forwarded-For`, so look at its share',
  http_connections: 'New connections are closed: compare with the maximum',
  http_connections_max: 'As the limit of `http_connections`',
  response_memory_bytes:
    'Responses break off: the connections of the slowest readers are closed',
  response_memory_max_bytes: 'As the limit of `response_memory_bytes`',
  ready: 'A replica gets no requests',
  rate_limited_total:
    'Clients report 429: `key` is `MAX_REQUESTS_PER_MINUTE`, `rejected` ' +
    'is `MAX_REJECTED_KEYS_PER_MINUTE`. The log has the id of the key',
  auth_failures_total:
    'Someone guesses keys (`unknown`, `malformed`), or a client uses an ' +
    'old one (`revoked`, `expired`)',
  api_keys_expiring_seconds:
    'Clients will get 401: `keys list` shows which key expires. A ' +
    'replaced key that is still in use counts',
  idempotent_creates_total:
    'Clients retry (`replayed`), reuse a key for another body ' +
    '(`reused`), or send one twice at the same time (`held`)',
  idempotency_keys_rows:
    'The table `idempotency_keys` grows: compare with ' +
    '`idempotent_creates_total` and `IDEMPOTENCY_KEY_HOURS`',
  shared_read_requests: 'Reads are slow: how many share a query',
  grouped_write_rows: 'Creates are slow: how many share a commit',
  database_errors_total:
    'Any `outcome_unknown`: a create may have been stored without a ' +
    'response. `constraint_violated` is the 4xx of an operation, or a ' +
    'defect if it is a 500',
  database_statement_seconds:
    'The database is slow: which statement. `timeout` is ' +
    '`DATABASE_TIMEOUT_MS`, such as during a lock',
  database_pool_wait_seconds:
    'Statements are fast, but requests are slow: the pool is too small',
  database_up:
    'First, when requests fail. It becomes 1 again by a success 5 s ' +
    'after the last failure, or after a minute',
  database_connections: 'The pool is used up: `active` is at the maximum',
  database_connections_max: 'As the limit of `database_connections`',
  database_statements_waiting: 'The pool is used up: how many wait',
  migrations_pending: 'A new replica does not become ready',
  housekeeping_last_success_timestamp_seconds:
    'The table `idempotency_keys` grows',
  messages_queued: 'Messages are late: consumers are slow or stopped',
  messages_oldest_queued_seconds: 'Messages are late: by how much'
}

interface Metric {
  name: string
  type: unknown
  help: string
  labelNames: string[]
}

/** docs/metrics.md */
export function metricsPage(): Promise<string> {
  const database = idleDatabase()
  for (const measurer of api.measurers) measurer(database)
  // The types of prom-client lack labelNames.
  const metrics =
    database.metrics.registry.getMetricsAsArray() as unknown as Metric[]
  const head = ['name', 'type', 'labels', 'meaning', 'look at it when']

  const page = `<!-- Generated from the metrics in src/ by \`npm run generate\`. Do not edit. -->

# Metrics

With \`METRICS_PORT\`, the service responds to \`GET /metrics\` on that port, for
Prometheus and without a key. Do not publish the port: it accepts 100
connections, and waits 10 s for a request.

- Each replica counts what it has done itself. \`sum\` the counters of the
  replicas; for \`messages_*\`, \`api_keys_expiring_seconds\`,
  \`idempotency_keys_rows\` and \`migrations_pending\`, which all replicas read
  from one database, take the \`max\`.
- A scrape runs no statement. A replica reads these every ten seconds,
  on its connection for background work, and keeps the last value while it
  cannot.
- Label values come from the code and from \`openapi.yaml\`, never from a client.
- Series that alerts count begin with 0, so \`increase()\` sees the first event.
- \`nodejs_*\` and \`process_*\` are the
  [default metrics of prom-client](https://github.com/siimon/prom-client#default-metrics):
  event loop, memory, garbage collection and CPU.

${tableOf(head, metrics.map(rowOf))}
`

  return formatMarkdown(page)
}

function rowOf({ name, type, labelNames, help }: Metric): string[] {
  const look = whenToLook[name]
  if (look === undefined) {
    throw new Error(
      `tools/generate/metrics-page.ts: say when to look at ${name}`
    )
  }

  const labels = labelNames.map((label) => `\`${label}\``).join(', ')

  return [`\`${name}\``, String(type), labels, help, look]
}
