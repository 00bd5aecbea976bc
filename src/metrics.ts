import { Counter, Gauge, Histogram } from 'prom-client'

// These metrics are in the default registry of prom-client.

const histogram = <Label extends string>(
  name: string,
  help: string,
  buckets: number[],
  ...labelNames: Label[]
) => new Histogram({ name, help, labelNames, buckets })

/** Seconds. */
const durations = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]
const sizes = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

export const requestDuration = histogram(
  'http_request_duration_seconds',
  'Time from the headers of a request to the end of its response',
  durations,
  'operation',
  'status'
)
export const requestsInFlight = new Gauge({
  name: 'http_requests_in_flight',
  help: 'Requests without a complete response'
})
export const sharedReads = histogram(
  'shared_read_requests',
  'Requests per shared read',
  sizes
)
export const groupedWrites = histogram(
  'grouped_write_rows',
  'Rows per grouped write',
  sizes,
  'statement'
)
export const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: 'Failed statements, by error code: unavailable, outcome_unknown or internal_error',
  labelNames: ['code']
})

let pool = { totalCount: 0, idleCount: 0, waitingCount: 0 }

/** Sets the pg pool whose connections are counted. */
export const countConnections = (ofService: Readonly<typeof pool>): void =>
  void (pool = ofService)

const gauge = (
  name: string,
  help: string,
  labelNames: string[],
  collect: (this: Gauge) => void
) => new Gauge({ name, help, labelNames, collect })

gauge(
  'database_connections',
  'Connections of the pool, by state: idle or active',
  ['state'],
  function () {
    this.set({ state: 'idle' }, pool.idleCount)
    this.set({ state: 'active' }, pool.totalCount - pool.idleCount)
  }
)
gauge(
  'database_statements_waiting',
  'Statements waiting for a connection',
  [],
  function () {
    this.set(pool.waitingCount)
  }
)
