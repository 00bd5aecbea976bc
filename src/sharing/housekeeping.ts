import type { Database } from '../postgres/database.ts'

/** Milliseconds between two removals. */
const interval = 5000

const pruneChanges = { text: 'SELECT prune_changes()' }

/** Keys to remove at once. They take a fraction of a second. */
const batchSize = 1000

const removeExpired = `
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at < now() - $1 * interval '1 hour' ORDER BY created_at LIMIT ${batchSize}
  )) RETURNING true`

/**
 * Removes old records of changes, and idempotency keys once they are older than some hours, until the returned function is
 * called. Until its removal, a key replays.
 */
export function removeOldRecords(database: Pick<Database, 'writeInBackground'>, hours: number): () => void {
  const removeKeys = { name: 'remove-expired-keys', text: removeExpired, values: [hours] }
  async function removeAllKeys() {
    // The keys that expire meanwhile can wait for the next removal, or it would not end while many do.
    while ((await database.writeInBackground(removeKeys)).length === batchSize);
  }
  // One after the other, however long the first takes. The next one repeats what failed.
  let removal: Promise<unknown> = Promise.resolve()
  const remove = () => Promise.allSettled([database.writeInBackground(pruneChanges), removeAllKeys()])
  const timer = setInterval(() => void (removal = removal.then(remove)), interval)
  return () => clearInterval(timer)
}
