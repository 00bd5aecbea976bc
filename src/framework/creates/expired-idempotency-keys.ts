import type { Database } from '../postgres/database.ts'
import { sql, writeSettings } from '../postgres/sql.ts'
import type { Task } from '../tasks.ts'

/** Milliseconds between two removals. */
const intervalMs = 5000

/**
 * How long an Idempotency-Key is kept. Clients may rely on 24 hours from the
 * response, which may come minutes after `created_at`.
 */
const lifetime = '24 hours 10 minutes'

/** Idempotency-Keys of one statement, which a slow disk deletes in a second. */
const maxDeleted = 500

/** Waits 250 ms for rows that another replica is removing, and then fails. */
const deleteExpiredSql = sql`
  DELETE FROM idempotency_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM idempotency_keys
    WHERE created_at < now() - interval '${lifetime}'
    ORDER BY created_at
    LIMIT $1
  ))
    AND ${writeSettings}
  RETURNING true
`

/**
 * Makes the task that removes expired Idempotency-Keys. An expired
 * Idempotency-Key still replays until it is removed.
 */
export function removalOfExpiredIdempotencyKeys(database: Database): Task {
  const name = 'remove-expired-idempotency-keys'
  const statement = database.prepare(name, deleteExpiredSql)

  const task = 'idempotency_keys'
  const succeeded = () =>
    database.metrics.housekeepingSuccess.setToCurrentTime({ task })

  async function work(signal: AbortSignal): Promise<void> {
    let deleted: unknown[]
    do {
      deleted = await database.run('writes', statement, [maxDeleted])
      succeeded()
    } while (deleted.length === maxDeleted && !signal.aborted)
  }

  // The alert counts from the start.
  succeeded()

  return { name, intervalMs, work }
}
