import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Overloaded } from './batch.ts'
import type { Metrics } from './metrics.ts'
import type { Database } from './postgres/database.ts'
import { OutcomeUnknown, Unavailable } from './postgres/failures.ts'

/** Failures that need no line here: `Database` logs outages; others pass. */
const expected = [Unavailable, OutcomeUnknown, Overloaded]

/** Work that no request waits for. */
export interface Task {
  /** For the log. */
  name: string
  /** Milliseconds between two runs. */
  intervalMs: number
  /** @param signal is aborted when the service stops */
  work: (signal: AbortSignal) => Promise<void>
}

/**
 * Runs a task immediately, and again and again until the signal is aborted.
 * Logs its failures, except while the database is unavailable, which the
 * database reports itself, or busy.
 */
export function repeat(
  { name, intervalMs, work }: Task,
  log: Logger,
  signal: AbortSignal
): void {
  async function run(): Promise<void> {
    while (!signal.aborted) {
      await work(signal).catch((error: unknown) => {
        if (expected.some((kind) => error instanceof kind)) return
        log.error({ err: error }, `the background task failed: ${name}`)
      })
      await sleep(intervalMs, undefined, { signal })
    }
  }

  // The signal ends the sleep with an error.
  run().catch(() => {})
}

/** Makes the task that measures a database. */
export type Measurer = (database: Database) => Task

/** Milliseconds between two measurements. */
const measureIntervalMs = 10_000

/**
 * Returns a measurer of a database, which runs while the service has a
 * METRICS_PORT.
 *
 * @param name of the statement
 * @param text of a statement that returns one row
 * @param addMetrics adds metrics, if they are not the framework's, and returns
 *   a function that sets them
 */
export const measurer =
  <Row>(
    name: string,
    text: string,
    addMetrics: (metrics: Metrics) => (row: Row) => void
  ): Measurer =>
  (database) => {
    const statement = database.prepare(name, text)
    const setMetrics = addMetrics(database.metrics)

    async function work(): Promise<void> {
      const [row] = await database.run('checks', statement)
      setMetrics(row as Row)
    }

    return { name, intervalMs: measureIntervalMs, work }
  }
