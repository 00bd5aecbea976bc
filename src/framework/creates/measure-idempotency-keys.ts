import { measurer } from '../postgres/measurer.ts'
import { sql } from '../postgres/sql.ts'

/**
 * Before the first ANALYZE, the estimate is -1. Counting would read the whole
 * table.
 */
const estimate = sql`
  SELECT greatest(reltuples, 0)::float8 AS rows
  FROM pg_class
  WHERE oid = 'idempotency_keys'::regclass
`

/** Estimates how many Idempotency-Keys are stored. */
export const idempotencyKeyMeasurer = measurer(
  'estimate-of-idempotency-keys',
  estimate,
  (metrics) =>
    ({ rows }: { rows: number }) =>
      metrics.idempotencyKeyRows.set(rows)
)
