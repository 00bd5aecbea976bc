import type { Logger } from 'pino'
import { Unavailable } from './failures.ts'

/** Work in the background. */
interface Task {
  /** For the log. */
  name: string
  /** Milliseconds. While the work takes longer, it is not started again. */
  intervalMs: number
  /** The next run repeats the work after a failure. */
  work: () => Promise<void>
}

/**
 * Runs a task immediately, and then at each interval, until it is aborted.
 * Logs its failures, with one line for a series of equal ones. Unavailable is
 * not logged here: the database reports its outages itself.
 */
export function repeat(
  { name, intervalMs, work }: Task,
  log: Logger,
  signal: AbortSignal
): void {
  let lastFailure = ''
  let isRunning = false

  const succeeded = () => {
    lastFailure = ''
  }

  const failed = (error: unknown) => {
    if (error instanceof Unavailable) return

    const failure = String(error)
    if (failure === lastFailure) return

    lastFailure = failure
    log.error({ err: error }, `the background task failed: ${name}`)
  }

  const ended = () => {
    isRunning = false
  }

  const run = () => {
    if (isRunning || signal.aborted) return
    isRunning = true
    work().then(succeeded, failed).finally(ended)
  }

  run()
  setInterval(run, intervalMs)
}
