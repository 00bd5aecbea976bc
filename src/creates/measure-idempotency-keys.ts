import { idempotencyKeyRows } from '../metrics.ts'
import type { BackgroundReader } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'

/** Before the first ANALYZE, the estimate is -1. Counting would scan. */
const estimate = sql`
  SELECT greatest(reltuples, 0)::float8 AS rows
  FROM pg_class
  WHERE oid = 'idempotency_keys'::regclass
`

/** Estimates how many Idempotency-Keys are stored. */
export async function measureIdempotencyKeys(
  database: BackgroundReader
): Promise<void> {
  const statement = database.statements.add(
    'estimate-of-idempotency-keys',
    estimate
  )
  const found = await database.readInBackground<{ rows: number }>(statement)

  for (const { rows } of found) idempotencyKeyRows.set(rows)
}
