import type { Database } from '../postgres/database.ts'
import { sql, writeSettings } from '../postgres/sql.ts'
import type { Task } from '../tasks.ts'

/** Milliseconds between two removals. */
const intervalMs = 5000

/** Idempotency-Keys of one statement, which a slow disk deletes in a second. */
const maxDeleted = 500

/**
 * Waits 250 ms for rows that another replica is removing, and then fails.
 *
 * A client counts the hours from the response, which may come minutes after
 * `created_at`: they are kept for ten minutes more.
 */
const deleteExpiredSql = sql`
  DELETE FROM idempotency_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM idempotency_keys
    WHERE created_at < now() - $1 * interval '1 hour' - interval '10 minutes'
    ORDER BY created_at
    LIMIT $2
  ))
    AND ${writeSettings}
  RETURNING true
`

/**
 * Makes the task that removes expired Idempotency-Keys. An expired
 * Idempotency-Key still replays until it is removed.
 *
 * @param hours until an Idempotency-Key expires
 */
export function removalOfExpiredIdempotencyKeys(
  database: Database,
  hours: number
): Task {
  const name = 'remove-expired-idempotency-keys'
  const statement = database.prepare(name, deleteExpiredSql)
  const values = [hours, maxDeleted]

  const task = 'idempotency_keys'
  const succeeded = () =>
    database.metrics.housekeepingSuccess.setToCurrentTime({ task })

  async function work(signal: AbortSignal): Promise<void> {
    let deleted: unknown[]
    do {
      deleted = await database.runInBackground({ ...statement, values })
      succeeded()
    } while (deleted.length === maxDeleted && !signal.aborted)
  }

  // The alert counts from the start.
  succeeded()

  return { name, intervalMs, work }
}
