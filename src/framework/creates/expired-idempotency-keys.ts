import type { Logger } from 'pino'
import { housekeepingSucceeded } from '../metrics.ts'
import type { BackgroundWriter } from '../postgres/database.ts'
import { isCancelled, Unavailable } from '../postgres/failures.ts'
import { sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'
import { repeat } from '../postgres/repeat.ts'

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

/**
 * Removes expired Idempotency-Keys: immediately, and then every five seconds.
 * An expired Idempotency-Key still replays until it is removed.
 *
 * @param hours until an Idempotency-Key expires
 * @returns a function that stops the task
 */
export function startRemovingExpiredIdempotencyKeys(
  database: BackgroundWriter,
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
  readonly #database: BackgroundWriter
  readonly #hours: number
  readonly #deleteExpired: NamedStatement

  constructor(database: BackgroundWriter, hours: number) {
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
   * Ends at the first batch that is not full. Idempotency-Keys that expire
   * meanwhile wait for the next run. Otherwise, this one might never end.
   */
  async #removeAll(): Promise<void> {
    let deletedCount: number
    do deletedCount = await this.#removeBatch()
    while (deletedCount === this.#batchSize)

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
