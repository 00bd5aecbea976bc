import type { Database } from '../postgres/database.ts'
import { sql, writeSettings } from '../postgres/sql.ts'
import type { Task } from '../tasks.ts'

/** Milliseconds between two runs. */
const intervalMs = 5000

/** A run begins with the oldest row once in so many: once an hour. */
const runsPerHour = 720

/**
 * How long an Idempotency-Key is kept. Clients may rely on 24 hours from the
 * response, which may come minutes after `created_at`.
 */
const lifetime = '24 hours 10 minutes'

/** Idempotency-Keys that a statement deletes: a slow disk needs a second. */
const maxDeleted = 500

/**
 * Begins with rows of the time $1, because deleted rows stay in the index until
 * a vacuum, and would all be read again. The lock lets one replica delete at a
 * time; the others find no row meanwhile.
 */
const deleteExpiredSql = sql`
  DELETE FROM idempotency_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM idempotency_keys
    WHERE created_at >= to_timestamp($1)
      AND created_at < now() - interval '${lifetime}'
      AND (
        SELECT pg_try_advisory_xact_lock('idempotency_keys'::regclass::bigint)
      )
    ORDER BY created_at
    LIMIT ${String(maxDeleted)}
  ))
    AND ${writeSettings}
  RETURNING extract(epoch FROM created_at)::float8 AS time
`

/**
 * Makes the task that removes expired Idempotency-Keys. An expired
 * Idempotency-Key still replays until it is removed.
 */
export function removalOfExpiredIdempotencyKeys(database: Database): Task {
  const name = 'remove-expired-idempotency-keys'
  const statement = database.prepare(name, deleteExpiredSql)
  const { housekeepingSuccess } = database.metrics
  const succeeded = () =>
    housekeepingSuccess.setToCurrentTime({ task: 'idempotency_keys' })

  let runs = 0
  let newestDeleted = -Infinity

  async function work(signal: AbortSignal): Promise<void> {
    // An older row may have been committed late, or left by another replica.
    let from = runs % runsPerHour === 0 ? -Infinity : newestDeleted
    let deleted: { time: number }[]
    do {
      deleted = await database.run('writes', statement, [from])
      succeeded()
      from = Math.max(from, ...deleted.map(({ time }) => time))
      newestDeleted = Math.max(newestDeleted, from)
    } while (deleted.length === maxDeleted && !signal.aborted)
    runs++
  }

  // The alert counts from the start.
  succeeded()

  return { name, intervalMs, work }
}
