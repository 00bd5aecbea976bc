import type { Logger } from 'pino'
import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'
import { repeat } from '../postgres/repeat.ts'

/** Milliseconds between two removals. */
const intervalMs = 5000

/**
 * Idempotency-Keys that one statement deletes. Even on a slow disk, this takes
 * less than the second that a statement in the background has.
 */
const maxDeleted = 500

const deleteExpiredIdempotencyKeys = sql`
  DELETE FROM idempotency_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM idempotency_keys
    WHERE created_at < now() - $1 * interval '1 hour'
    ORDER BY created_at
    LIMIT $2
  ))
  RETURNING true
`

/**
 * Removes expired Idempotency-Keys: immediately, and then every five seconds.
 * An expired Idempotency-Key still replays until it is removed.
 *
 * @param hours until an Idempotency-Key expires
 * @param signal stops the task
 */
export function startRemovingExpiredIdempotencyKeys(
  database: Database,
  hours: number,
  log: Logger,
  signal: AbortSignal
): void {
  const statement = database.prepare(
    'remove-expired-idempotency-keys',
    deleteExpiredIdempotencyKeys
  )

  const task = 'idempotency_keys'
  const succeeded = () =>
    database.metrics.housekeepingSuccess.setToCurrentTime({ task })

  async function work(): Promise<void> {
    const values = [hours, maxDeleted]
    let deleted: unknown[]
    do {
      deleted = await database.runInBackground({ ...statement, values })
      succeeded()
    } while (deleted.length === maxDeleted && !signal.aborted)
  }

  succeeded()

  repeat({ name: 'remove Idempotency-Keys', intervalMs, work }, log, signal)
}
