import type { Database } from '../postgres/database.ts'

/** Milliseconds between two removals. */
const interval = 5000

/** Maximum number of keys to remove by one statement, which then takes a fraction of a second. */
const batchSize = 1000

const removeExpired = `
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at < now() - $1 * interval '1 hour' ORDER BY created_at LIMIT ${batchSize}
  )) RETURNING true`

/**
 * Removes old records of changes, and idempotency keys once they are older than some hours, until the returned function is
 * called. Until its removal, a key replays.
 */
export function removeOldRecords(
  database: Pick<Database, 'writeInBackground'>,
  hours: number
): () => void {
  const removeKeys = {
    name: 'remove-expired-keys',
    text: removeExpired,
    values: [hours]
  }
  async function removeAllKeys() {
    // Ends at the first incomplete batch. Keys that expire meanwhile wait for the next removal; otherwise, this one might not end.
    while ((await database.writeInBackground(removeKeys)).length === batchSize);
  }
  let removal: Promise<unknown> | undefined
  const end = () => (removal = undefined)
  const timer = setInterval(() => {
    // The next run repeats what failed.
    database
      .writeInBackground({ text: 'SELECT prune_changes()' })
      .catch(() => {})
    removal ??= removeAllKeys().then(end, end)
  }, interval)
  return () => clearInterval(timer)
}
