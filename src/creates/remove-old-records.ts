// The background removal of old records: of changes of lists, and of
// Idempotency-Keys.
import { housekeepingSucceeded } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { isCancelled, Unavailable } from '../postgres/outcomes.ts'
import { sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'

/** The privileges that the statements below need. */
export const removalPrivileges = {
  idempotency_keys: 'SELECT, DELETE',
  'FUNCTION prune_changes()': 'EXECUTE'
}

/** Milliseconds between two removals. */
const intervalMs = 5000

/**
 * Idempotency keys that one statement deletes. On a fast disk, this takes a
 * fraction of a second.
 */
const maxBatchSize = 1000

const deleteExpiredKeys = sql`
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

type Background = Pick<Database, 'writeInBackground' | 'statements'>

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
  const expiredKeys = new ExpiredKeys(database, hours)
  housekeepingSucceeded('changes')
  housekeepingSucceeded('idempotency_keys')

  const timer = setInterval(() => {
    pruneChanges(database).catch(repeatedNextTime)
    expiredKeys.remove().catch(repeatedNextTime)
  }, intervalMs)

  return () => clearInterval(timer)
}

async function pruneChanges(database: Background): Promise<void> {
  const prune = 'SELECT prune_changes()'

  await database.writeInBackground(
    database.statements.add('prune-changes', prune)
  )
  housekeepingSucceeded('changes')
}

/** The removal of expired idempotency keys, in batches. */
class ExpiredKeys {
  #isRemoving = false
  #batchSize = maxBatchSize
  readonly #database: Background
  readonly #hours: number
  readonly #deleteExpired: NamedStatement

  constructor(database: Background, hours: number) {
    this.#database = database
    this.#hours = hours
    this.#deleteExpired = database.statements.add(
      'remove-expired-keys',
      deleteExpiredKeys
    )
  }

  /** Does nothing while an earlier call removes keys. */
  async remove(): Promise<void> {
    if (this.#isRemoving) return

    this.#isRemoving = true
    try {
      await this.#removeAll()
    } catch (error) {
      // A disk may be too slow for the batch. A smaller one makes progress.
      if (isTimeout(error)) this.#batchSize = Math.ceil(this.#batchSize / 2)
      throw error
    } finally {
      this.#isRemoving = false
    }
  }

  /**
   * Ends at the first batch that is not full. Keys that expire meanwhile wait
   * for the next time. Otherwise, this one might not end.
   */
  async #removeAll(): Promise<void> {
    let size

    do size = await this.#removeBatch()
    while (size === this.#batchSize)

    this.#batchSize = maxBatchSize
    housekeepingSucceeded('idempotency_keys')
  }

  async #removeBatch(): Promise<number> {
    const deleted = await this.#database.writeInBackground({
      ...this.#deleteExpired,
      values: [this.#hours, this.#batchSize]
    })
    return deleted.length
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Unavailable && isCancelled(error.cause)

/** The database has reported the error. */
function repeatedNextTime(): void {}
