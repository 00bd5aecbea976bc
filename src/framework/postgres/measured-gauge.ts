import { sharedCall } from '../batch.ts'
import type { Database } from './database.ts'

interface MeasuredGauge {
  /** The name of the metric, and of its statement. */
  name: string
  help: string
  /**
   * A statement that returns one row, with the column `value`. Bound it by a
   * LIMIT if its table grows.
   */
  text: string
}

/**
 * Makes a gauge that a statement measures. Each scrape of /metrics starts the
 * statement, and shows what the scrape before it has measured, so that a slow
 * database does not delay the other metrics. NaN is not known: at the first
 * scrape, and after a failure.
 */
export function measuredGauge(
  database: Database,
  { name, help, text }: MeasuredGauge
): void {
  const statement = database.prepare(name, text)
  const measure = sharedCall(async () => {
    const [row] = await database.run<{ value: number }>('internal', statement)
    gauge.set(Number(row?.value))
  })
  const gauge = database.metrics.gauge(name, help, [], () => {
    // The database logs its outages itself.
    measure().catch(() => gauge.set(NaN))
  })
  gauge.set(NaN)
}
