import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { onceAMinute } from '../once-a-minute.ts'
import type { Database } from '../postgres/database.ts'
import { sql, writeSettings } from '../postgres/sql.ts'

/** Milliseconds between two runs. */
const intervalMs = 5000

/** Once an hour, a run begins with the oldest row again. */
const runsPerHour = 720

/**
 * How long an Idempotency-Key is kept. Clients may rely on 24 hours after the
 * response, which they may get some minutes after `created_at`.
 */
const lifetime = '24 hours 10 minutes'

/**
 * Idempotency-Keys that one statement deletes: a second of work for a slow
 * disk.
 */
const maxDeleted = 500

/**
 * Begins where the last run ended, at rows of the time $1. Deleted rows stay in
 * the index until a vacuum, so beginning with the oldest would take longer each
 * time. The lock lets one replica delete at a time: the others find no rows.
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
 * Removes expired Idempotency-Keys every five seconds, until the signal is
 * aborted. An expired Idempotency-Key still replays until it is removed.
 */
export async function removeExpiredIdempotencyKeys(
  database: Database,
  log: Logger,
  signal: AbortSignal
): Promise<void> {
  const remove = expiredKeysRemover(database)
  const logFailure = onceAMinute((error: unknown) =>
    log.error({ err: error }, 'expired Idempotency-Keys cannot be removed')
  )

  while (!signal.aborted) {
    await remove(signal).catch(logFailure)
    await sleep(intervalMs, undefined, { signal }).catch(() => {})
  }
}

/**
 * Returns a function that removes the Idempotency-Keys that have expired, and
 * rejects with the errors of `Database.run`.
 */
export function expiredKeysRemover(
  database: Database
): (signal: AbortSignal) => Promise<void> {
  const name = 'remove-expired-idempotency-keys'
  const statement = database.prepare(name, deleteExpiredSql)
  const { housekeepingSuccess } = database.metrics
  const succeeded = () =>
    housekeepingSuccess.setToCurrentTime({ task: 'idempotency_keys' })
  let runs = 0
  let newestDeleted = -Infinity
  // The alert counts from the start.
  succeeded()

  return async (signal) => {
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
}
