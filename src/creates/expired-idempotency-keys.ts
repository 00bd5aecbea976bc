import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Database } from '../postgres/database.ts'
import { rawSql } from '../postgres/sql.ts'

/** Milliseconds between two runs. */
const intervalMs = 60_000

/** Idempotency-Keys that one statement deletes: few, so that it is short. */
const maxDeleted = 500

/**
 * Clients may rely on 24 hours after the response, which they may get some
 * minutes after `created_at`. The advisory lock lets one replica delete at a
 * time: the other replicas find no rows.
 *
 * The search begins at the time `$1`. Deleted rows stay in the index until a
 * vacuum, so to begin with the oldest row would take longer each time: 100 ms
 * after a million removals, in place of 1 ms.
 */
const deleteExpiredSql = rawSql`
  DELETE FROM idempotency_keys
  WHERE key_hash IN (
    SELECT key_hash
    FROM idempotency_keys
    WHERE created_at >= to_timestamp($1)
      AND created_at < now() - interval '24 hours 10 minutes'
      AND (
        SELECT pg_try_advisory_xact_lock('idempotency_keys'::regclass::bigint)
      )
    ORDER BY created_at
    LIMIT ${String(maxDeleted)}
  )
  RETURNING extract(epoch FROM created_at)::float8 AS "createdAt"
`

/**
 * Deletes expired Idempotency-Keys every minute, until the signal is aborted.
 * An expired Idempotency-Key still replays until it is deleted.
 */
export async function deleteExpiredIdempotencyKeysPeriodically(
  database: Database,
  log: Logger,
  signal: AbortSignal
): Promise<void> {
  const deleteExpired = makeDeleteExpiredIdempotencyKeys(database, signal)

  while (!signal.aborted) {
    await deleteExpired().catch((err: unknown) =>
      log.error({ err }, 'expired Idempotency-Keys cannot be deleted')
    )
    await sleep(intervalMs, undefined, { signal }).catch(() => {})
  }
}

/**
 * Returns a function that deletes expired Idempotency-Keys, from the last one it
 * deleted on, until the signal is aborted. It rejects with the errors of
 * `Database.write`.
 */
export function makeDeleteExpiredIdempotencyKeys(
  database: Database,
  signal?: AbortSignal
): () => Promise<void> {
  const statement = database.defineStatement(
    'deleteExpiredIdempotencyKeys',
    deleteExpiredSql
  )
  /** Seconds since 1970: all that were created before it have been deleted. */
  let deletedUntil = -Infinity

  return async () => {
    let deleted: { createdAt: number }[]
    do {
      deleted = await database.write(statement, [deletedUntil])
      deletedUntil = Math.max(
        deletedUntil,
        ...deleted.map(({ createdAt }) => createdAt)
      )
    } while (deleted.length === maxDeleted && signal?.aborted !== true)
  }
}
