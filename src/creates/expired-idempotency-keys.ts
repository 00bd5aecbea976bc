import type { Logger } from 'pino'
import { housekeepingSucceeded } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { isCancelled, Unavailable } from '../postgres/failures.ts'
import { sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'
import { repeat } from '../postgres/repeat.ts'

/** The privileges that the statement below needs. */
export const idempotencyKeyRemovalPrivileges = {
  idempotency_keys: 'SELECT, DELETE'
}

/** Milliseconds between two removals. */
const intervalMs = 5000

/**
 * Idempotency-Keys that one statement deletes. On a fast disk, this takes a
 * fraction of a second.
 */
const maxBatchSize = 1000

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

type Background = Pick<Database, 'writeInBackground' | 'statements'>

/**
 * Removes expired Idempotency-Keys: at once, and then every five seconds. An
 * expired key still replays until it is removed.
 *
 * @param hours until an Idempotency-Key expires
 * @returns a function that ends it
 */
export function startRemovingExpiredIdempotencyKeys(
  database: Background,
  hours: number,
  log: Logger
): () => void {
  const removal = new ExpiredIdempotencyKeyRemoval(database, hours)
  housekeepingSucceeded('idempotency_keys')

  const work = () => removal.run()
  return repeat({ name: 'remove Idempotency-Keys', intervalMs, work }, log)
}

/** The removal of expired Idempotency-Keys, in batches. */
class ExpiredIdempotencyKeyRemoval {
  #batchSize = maxBatchSize
  readonly #database: Background
  readonly #hours: number
  readonly #deleteExpired: NamedStatement

  constructor(database: Background, hours: number) {
    this.#database = database
    this.#hours = hours
    this.#deleteExpired = database.statements.add(
      'remove-expired-idempotency-keys',
      deleteExpiredIdempotencyKeys
    )
  }

  async run(): Promise<void> {
    try {
      await this.#removeAll()
    } catch (error) {
      // A disk may be too slow for the batch. A smaller one makes progress.
      if (isTimeout(error)) this.#batchSize = Math.ceil(this.#batchSize / 2)
      throw error
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
