import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { retry } from '../retry.ts'
import { Unavailable } from './failures.ts'

/** Work in the background. */
interface Task {
  /** For the log. */
  name: string
  /** Milliseconds between two runs. */
  intervalMs: number
  work: () => Promise<void>
}

/**
 * Runs a task immediately, and again and again until the signal is aborted.
 * Logs its failures, except Unavailable: the database reports its outages
 * itself.
 */
export function repeat(
  { name, intervalMs, work }: Task,
  log: Logger,
  signal: AbortSignal
): void {
  const report = (error: unknown) => {
    if (!(error instanceof Unavailable))
      log.error({ err: error }, `the background task failed: ${name}`)
  }

  async function run(): Promise<void> {
    for (;;) {
      await retry(work, { report, intervalMs, signal })
      await sleep(intervalMs, undefined, { signal })
    }
  }

  // The signal ends the sleep by an error.
  run().catch(() => {})
}
