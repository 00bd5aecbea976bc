import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Everything that the service counts for Prometheus, beside what prom-client counts of Node.js itself. */
export const registry = new Registry()
const registers = [registry]

/** Seconds. */
const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const sizes = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

export const requestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the headers of a request to the end of its answer',
  labelNames: ['operation', 'status'],
  buckets: durations,
  registers
})

/** Kept as a number and read when Prometheus asks: a Gauge would look for its value twice in each request. */
export const requestsInFlight = { count: 0 }

new Gauge({
  name: 'http_requests_in_flight',
  help: 'Requests that are not answered to the end',
  registers,
  collect() {
    this.set(requestsInFlight.count)
  }
})

export const refusedKeys = new Counter({
  name: 'api_key_refusals_total',
  help: 'Requests that were answered with 401, by what was wrong with their key',
  labelNames: ['reason'],
  registers
})

export const rateLimited = new Counter({
  name: 'rate_limited_requests_total',
  help: 'Requests that were answered with 429, by the limit: of a key, or of an address whose requests were refused',
  labelNames: ['limit'],
  registers
})

export const sharedReads = new Histogram({
  name: 'shared_read_requests',
  help: 'List requests that were answered from one read',
  buckets: sizes,
  registers
})

export const groupedWrites = new Histogram({
  name: 'grouped_write_rows',
  help: 'Rows that were written by one statement',
  labelNames: ['statement'],
  buckets: sizes,
  registers
})

export const databaseErrors = new Counter({
  name: 'database_errors_total',
  help: 'Statements that failed, by what their callers are told: unavailable, outcome_unknown or internal_error',
  labelNames: ['code'],
  registers
})

/** What pg tells of a pool. */
interface Pool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

const pools = new Set<Pool>()

/** Counts the connections of a pool from now on; gives the way to end that. */
export function countConnections(pool: Pool): () => void {
  pools.add(pool)
  return () => pools.delete(pool)
}

const sum = (value: (pool: Pool) => number) => [...pools].reduce((total, pool) => total + value(pool), 0)

new Gauge({
  name: 'database_connections',
  help: 'Connections of the pool, by state: idle, or active with a statement',
  labelNames: ['state'],
  registers,
  collect() {
    this.set(
      { state: 'idle' },
      sum(({ idleCount }) => idleCount)
    )
    this.set(
      { state: 'active' },
      sum(({ totalCount, idleCount }) => totalCount - idleCount)
    )
  }
})

new Gauge({
  name: 'database_statements_waiting',
  help: 'Statements that wait for a connection of the pool',
  registers,
  collect() {
    this.set(sum(({ waitingCount }) => waitingCount))
  }
})

/** Has prom-client watch Node.js: event loop, memory, garbage collection, processor. To be called once. */
export const watchProcess = (): void => collectDefaultMetrics({ register: registry })
