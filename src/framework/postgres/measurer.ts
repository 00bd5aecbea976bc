import type { Database } from './database.ts'

/** A task that measures the database while the service has a METRICS_PORT. */
export interface Measurer {
  /** For the log. */
  name: string
  /**
   * Prepares the statement, and adds its metrics, if they are not the
   * framework's.
   *
   * @returns a function that measures once: it runs the statement, and sets the
   *   metrics
   */
  start: (database: Database) => () => Promise<void>
}
