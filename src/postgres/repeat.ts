import type { Logger } from 'pino'
import { Unavailable } from './failures.ts'

/** Work in the background. */
export interface Task {
  /** For the log. */
  name: string
  /** Milliseconds, more than the work takes. */
  intervalMs: number
  /** The next time repeats what failed. */
  work: () => Promise<void>
}

/**
 * Runs a task at once, and then at each interval. Logs its failures, one line
 * for equal ones in succession. Unavailable is not logged here: the database
 * reports its outages itself.
 *
 * @returns a function that ends it
 */
export function repeat(
  { name, intervalMs, work }: Task,
  log: Logger
): () => void {
  let lastFailure = ''

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

  const run = () => {
    work().then(succeeded, failed)
  }

  run()
  const timer = setInterval(run, intervalMs)
  return () => clearInterval(timer)
}
