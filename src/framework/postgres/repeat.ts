import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Unavailable } from './failures.ts'

/** Work in the background. */
interface Task {
  /** For the log. */
  name: string
  /** Milliseconds between two runs. */
  intervalMs: number
  /** The next run repeats the work after a failure. */
  work: () => Promise<void>
}

/**
 * Runs a task immediately, and again and again until the signal is aborted.
 * Logs its failures, with one line for a series of equal ones. Unavailable is
 * not logged here: the database reports its outages itself.
 */
export function repeat(
  { name, intervalMs, work }: Task,
  log: Logger,
  signal: AbortSignal
): void {
  let lastFailure = ''

  const succeeded = () => {
    lastFailure = ''
  }

  const failed = (error: unknown) => {
    const failure = String(error)
    if (error instanceof Unavailable || failure === lastFailure) return

    lastFailure = failure
    log.error({ err: error }, `the background task failed: ${name}`)
  }

  async function run(): Promise<void> {
    for (;;) {
      await work().then(succeeded, failed)
      await sleep(intervalMs, undefined, { signal })
    }
  }

  // The signal ends the sleep by an error.
  run().catch(() => {})
}
