// The background removal of old records: of changes of lists, and of
// Idempotency-Keys.
import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'

/** The privileges that the statements below need. */
export const removalPrivileges = {
  idempotency_keys: 'SELECT, DELETE',
  'FUNCTION prune_changes()': 'EXECUTE'
}

/** Milliseconds between two removals. */
const interval = 5000

/** Idempotency keys that one statement deletes, in a fraction of a second. */
const maxDeleted = 1000

const deleteExpiredKeys = sql`
  DELETE FROM idempotency_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM idempotency_keys
    WHERE created_at < now() - $1 * interval '1 hour'
    ORDER BY created_at
    LIMIT ${String(maxDeleted)}
  ))
  RETURNING true
`

type Background = Pick<Database, 'writeInBackground'>

/**
 * Deletes old records of changes, and expired idempotency keys, every five
 * seconds. An expired key still replays until this job deletes it.
 *
 * @param hours until an idempotency key expires
 * @returns a function that ends it
 */
export function removeOldRecords(
  database: Background,
  hours: number
): () => void {
  let isDeleting = false

  async function deleteKeys(): Promise<void> {
    if (isDeleting) return

    isDeleting = true
    try {
      await deleteAllExpired(database, hours)
    } finally {
      isDeleting = false
    }
  }

  const timer = setInterval(() => {
    pruneChanges(database).catch(repeatedNextTime)
    deleteKeys().catch(repeatedNextTime)
  }, interval)

  return () => clearInterval(timer)
}

function pruneChanges(database: Background): Promise<unknown> {
  return database.writeInBackground({ text: 'SELECT prune_changes()' })
}

/**
 * Ends at the first batch that is not full. Keys that expire meanwhile wait for
 * the next time. Otherwise, this one might not end.
 */
async function deleteAllExpired(
  database: Background,
  hours: number
): Promise<void> {
  let deleted

  do {
    deleted = await database.writeInBackground({
      name: 'remove-expired-keys',
      text: deleteExpiredKeys,
      values: [hours]
    })
  } while (deleted.length === maxDeleted)
}

/** The database has reported the error. */
function repeatedNextTime(): void {}
