import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { limitLockWait, sql } from '../postgres/sql.ts'

/**
 * Deletions that may run at the same time, for each operation. All may wait for
 * one locked row, and reads need other connections.
 */
const maxRuns = 4

/** Deletions that may wait for a connection. */
const maxQueued = 1000

/** A statement that deletes one row. */
interface RowDeletion {
  /** The name of the prepared statement. */
  name: string
  /** A DELETE that returns the row, unless there is none that it may delete. */
  statement: string
}

/**
 * Deletes single rows. A deletion waits for a locked row for a quarter of a
 * second.
 *
 * @example
 * const deletePet = rowDeleter(database, {
 *   name: 'delete-pet',
 *   statement: sql`DELETE FROM pets WHERE id = $1 RETURNING id`
 * })
 *
 * @returns a function that deletes the row with the parameters of the
 *   statement, and resolves with whether there was one; rejects like
 *   `Database.write`, and with Overloaded if too many deletions wait
 */
export function rowDeleter(
  database: Database,
  { name, statement }: RowDeletion
): (values: unknown[]) => Promise<boolean> {
  const text = sql`
    WITH item AS (
      ${statement}
    )
    SELECT
    FROM item
    WHERE ${limitLockWait}
  `
  const prepared = database.statements.add(name, text)

  async function deleteRows(rows: unknown[][]): Promise<boolean[]> {
    const deletions = rows.map(async (values) => {
      const deleted = await database.write({ ...prepared, values })
      return deleted.length > 0
    })
    return Promise.all(deletions)
  }

  return batch(deleteRows, {
    maxSize: 1,
    maxRuns,
    maxQueued,
    maxWaitMs: database.timeoutMs
  })
}
