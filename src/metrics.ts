// These metrics are in the default registry of prom-client.
import { Counter, Gauge, Histogram } from 'prom-client'

const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]
const sizeBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

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

export const cancelledGroups = new Counter({
  name: 'grouped_writes_cancelled_total',
  help: 'Grouped writes that exceeded their time limit, and were split'
})

const errorCodes = ['unavailable', 'outcome_unknown', 'internal_error']

export const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: `Failed statements, by error code: ${errorCodes.join(', ')}`,
  labelNames: ['code']
})
// A counter that does not exist before the first error hides that error from
// increase().
for (const code of errorCodes) databaseErrors.inc({ code }, 0)

/** The counts of a pg pool. */
interface PoolCounts {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

let pool: PoolCounts = { totalCount: 0, idleCount: 0, waitingCount: 0 }

/** Sets the pg pool whose connections are counted. */
export function countConnections(ofService: PoolCounts): void {
  pool = ofService
}

new Gauge({
  name: 'database_connections',
  help: 'Connections of the pool, by state: idle or active',
  labelNames: ['state'],
  collect() {
    this.set({ state: 'idle' }, pool.idleCount)
    this.set({ state: 'active' }, pool.totalCount - pool.idleCount)
  }
})

new Gauge({
  name: 'database_statements_waiting',
  help: 'Statements waiting for a connection',
  collect() {
    this.set(pool.waitingCount)
  }
})
