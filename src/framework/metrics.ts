// The metrics of the framework, in the default registry of prom-client. Each
// series that an alert counts exists from the start, with 0: increase() does
// not see the first failure of a series that begins with it.
//
// `npm run generate` writes docs/metrics.md from them.
import { Counter, Gauge, Histogram } from 'prom-client'

const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]
/** Fewer, because there is a histogram for each statement and result. */
const statementBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5]
const sizeBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

const buildInfo = new Gauge({
  name: 'build_info',
  help: 'Always 1; the labels are the version and ENVIRONMENT of the service',
  labelNames: ['version', 'environment']
})

/** Sets the labels of `build_info`. */
export function identifyBuild(version: string, environment: string): void {
  buildInfo.reset()
  buildInfo.set({ version, environment }, 1)
}

/** Seconds. */
export const requestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the headers of a request to the end of its response',
  labelNames: ['operation', 'status'],
  buckets: durationBuckets
})

export const requestsInFlight = new Gauge({
  name: 'http_requests_in_flight',
  help: 'Requests without a complete response'
})

export const httpErrors = new Counter({
  name: 'http_errors_total',
  help: 'Error responses, by the code in their body',
  labelNames: ['operation', 'code']
})

/** Creates the series of each code, at 0. */
export function initializeErrors(operation: string, codes: string[]): void {
  for (const code of codes) httpErrors.inc({ operation, code }, 0)
}

const parserErrorCodes = [
  'invalid_request',
  'request_timeout',
  'headers_too_large'
]

export const parserErrors = new Counter({
  name: 'http_parser_errors_total',
  help: `Requests that are not valid HTTP: ${parserErrorCodes.join(', ')}`,
  labelNames: ['code']
})
for (const code of parserErrorCodes) parserErrors.inc({ code }, 0)

export const untrustedForwards = new Counter({
  name: 'http_untrusted_forwards_total',
  help: 'Requests of a proxy that is not trusted with the address of its client'
})

export const openConnections = new Gauge({
  name: 'http_connections',
  help: 'Open connections of clients and proxies'
})

export const maxConnections = new Gauge({
  name: 'http_connections_max',
  help: 'MAX_CONNECTIONS'
})

export const responseMemory = new Gauge({
  name: 'response_memory_bytes',
  help: 'Memory of responses that clients have yet to read'
})

export const maxResponseMemory = new Gauge({
  name: 'response_memory_max_bytes',
  help: 'MAX_RESPONSE_BUFFER_BYTES'
})

export const ready = new Gauge({
  name: 'ready',
  help: '1 if the last request for /readyz got 200, otherwise 0'
})

export const rateLimited = new Counter({
  name: 'rate_limited_total',
  help: 'Requests over a limit: of their API key, or of requests without a valid one',
  labelNames: ['limit']
})

const authFailureReasons = [
  'absent',
  'malformed',
  'unknown',
  'revoked',
  'expired'
]

export const authFailures = new Counter({
  name: 'auth_failures_total',
  help: 'Requests without a valid API key, by the state of the API key',
  labelNames: ['reason']
})
for (const reason of authFailureReasons) authFailures.inc({ reason }, 0)

/** Seconds. */
export const apiKeysExpiring = new Gauge({
  name: 'api_keys_expiring_seconds',
  help: 'Time until the first API key expires that was used in the last 24 hours; +Inf without one'
})
apiKeysExpiring.set(Infinity)

const createOutcomes = [
  'created',
  'replayed',
  'reused',
  'held',
  'invalid',
  'locked'
] as const

const idempotentCreates = new Counter({
  name: 'idempotent_creates_total',
  help: `Creates with an Idempotency-Key: ${createOutcomes.join(', ')}`,
  labelNames: ['operation', 'outcome']
})

/** Creates the series of each outcome, at 0. */
export function initializeIdempotentCreates(operation: string): void {
  for (const outcome of createOutcomes)
    idempotentCreates.inc({ operation, outcome }, 0)
}

/** Counts a create with an Idempotency-Key. */
export function countIdempotentCreate(
  operation: string,
  outcome: (typeof createOutcomes)[number]
): void {
  idempotentCreates.inc({ operation, outcome })
}

export const idempotencyKeyRows = new Gauge({
  name: 'idempotency_keys_rows',
  help: 'Stored Idempotency-Keys, as estimated by the last ANALYZE or VACUUM'
})

export const sharedReads = new Histogram({
  name: 'shared_read_requests',
  help: 'Requests per shared read',
  buckets: sizeBuckets
})

export const groupedWrites = new Histogram({
  name: 'grouped_write_rows',
  help: 'Rows per grouped write',
  labelNames: ['statement'],
  buckets: sizeBuckets
})

const databaseErrorCodes = [
  'unavailable',
  'outcome_unknown',
  'constraint_violated',
  'internal_error'
]

export const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: `Failed statements, by error code: ${databaseErrorCodes.join(', ')}`,
  labelNames: ['code']
})
for (const code of databaseErrorCodes) databaseErrors.inc({ code }, 0)

/**
 * - ok
 * - timeout: the service cancelled it after DATABASE_TIMEOUT_MS, or after a
 *   second in the background.
 * - failed: for another reason.
 */
const statementResults = ['ok', 'timeout', 'failed'] as const

type StatementResult = (typeof statementResults)[number]

/** Seconds. */
const statementDuration = new Histogram({
  name: 'database_statement_seconds',
  help: 'Time that PostgreSQL needs for a statement: ok, timeout or failed',
  labelNames: ['statement', 'outcome'],
  buckets: statementBuckets
})

/** Creates the series of each result, at 0. */
export function initializeStatement(statement: string): void {
  for (const result of statementResults)
    statementDuration.zero({ statement, outcome: result })
}

/**
 * Measures a statement that has ended.
 *
 * @param since when it was sent, by `performance.now()`
 */
export function observeStatement(
  statement: string | undefined,
  result: StatementResult,
  since: number
): void {
  const labels = { statement: statement ?? 'unnamed', outcome: result }
  statementDuration.observe(labels, secondsSince(since))
}

const poolWait = new Histogram({
  name: 'database_pool_wait_seconds',
  help: 'Time that a statement waits for a connection of its pool',
  labelNames: ['use'],
  buckets: statementBuckets
})

/**
 * Measures the wait of a statement for its connection.
 *
 * @param since when it began, by `performance.now()`
 */
export function observePoolWait(use: DatabaseUse, since: number): void {
  poolWait.observe({ use }, secondsSince(since))
}

const secondsSince = (time: number) => (performance.now() - time) / 1000

/** What statements are for. */
export type DatabaseUse = 'reads' | 'writes' | 'background'

/** What the gauges of the database show. */
interface ObservedDatabase {
  /** The counts of a pg pool. */
  readonly pool: {
    readonly totalCount: number
    readonly idleCount: number
    readonly waitingCount: number
  }
  readonly maxConnections: number
  readonly uses: Readonly<Record<DatabaseUse, { isAvailable: boolean }>>
}

const available = { isAvailable: true }

let database: ObservedDatabase = {
  pool: { totalCount: 0, idleCount: 0, waitingCount: 0 },
  maxConnections: 0,
  uses: { reads: available, writes: available, background: available }
}

/** Sets the database that the gauges show. */
export function observeDatabase(observed: ObservedDatabase): void {
  database = observed
}

new Gauge({
  name: 'database_up',
  help: '0 while the database is unavailable for reads, writes or background',
  labelNames: ['use'],
  collect() {
    for (const [use, { isAvailable }] of Object.entries(database.uses))
      this.set({ use }, Number(isAvailable))
  }
})

new Gauge({
  name: 'database_connections',
  help: 'Connections of the pool, by state: idle or active',
  labelNames: ['state'],
  collect() {
    const { idleCount, totalCount } = database.pool
    this.set({ state: 'idle' }, idleCount)
    this.set({ state: 'active' }, totalCount - idleCount)
  }
})

new Gauge({
  name: 'database_connections_max',
  help: 'MAX_DATABASE_CONNECTIONS',
  collect() {
    this.set(database.maxConnections)
  }
})

new Gauge({
  name: 'database_statements_waiting',
  help: 'Statements waiting for a connection',
  collect() {
    this.set(database.pool.waitingCount)
  }
})

export const pendingMigrations = new Gauge({
  name: 'migrations_pending',
  help: 'Migrations that the database lacks, at the last check'
})

const housekeepingSuccess = new Gauge({
  name: 'housekeeping_last_success_timestamp_seconds',
  help: 'Last success of a removal of old records, or the start of the service',
  // Not `job`, which is the label of a scrape.
  labelNames: ['task']
})

/** Records a success of the removal of expired Idempotency-Keys. */
export function housekeepingSucceeded(): void {
  housekeepingSuccess.setToCurrentTime({ task: 'idempotency_keys' })
}
