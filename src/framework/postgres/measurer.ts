import type { Metrics } from '../metrics.ts'
import type { Database } from './database.ts'

/** A task that measures the database while the service has a METRICS_PORT. */
export type Measurer = ReturnType<typeof measurer>

/**
 * @param name of the statement, and for the log
 * @param text of a statement that returns one row
 * @param addMetrics adds metrics, if they are not the framework's, and returns
 *   a function that sets them
 */
export const measurer = <Row>(
  name: string,
  text: string,
  addMetrics: (metrics: Metrics) => (row: Row) => void
) => ({
  name,

  /** Returns a function that measures once. */
  start(database: Database): () => Promise<void> {
    const statement = database.prepare(name, text)
    const setMetrics = addMetrics(database.metrics)

    return async () => {
      const [row] = await database.runInBackground(statement)
      setMetrics(row as Row)
    }
  }
})
