import type { Measurer } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'

/** Before the first ANALYZE, the estimate is -1. Counting would scan. */
const estimate = sql`
  SELECT greatest(reltuples, 0)::float8 AS rows
  FROM pg_class
  WHERE oid = 'idempotency_keys'::regclass
`

/** Estimates how many Idempotency-Keys are stored. */
export const idempotencyKeyMeasurer: Measurer = {
  name: 'number of Idempotency-Keys',

  start(database) {
    const statement = database.prepare('estimate-of-idempotency-keys', estimate)

    return async () => {
      const estimates = await database.runInBackground<{ rows: number }>(
        statement
      )
      for (const { rows } of estimates)
        database.metrics.idempotencyKeyRows.set(rows)
    }
  }
}
