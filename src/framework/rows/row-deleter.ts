import type { Database } from '../postgres/database.ts'
import { limitLockWait, sql } from '../postgres/sql.ts'

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
 *   `Database.writeAlone`
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

  return async (values) => {
    const deleted = await database.writeAlone({ ...prepared, values })
    return deleted.length > 0
  }
}
