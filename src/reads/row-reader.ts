import type { QueryResultRow } from 'pg'
import type { Database, Statement } from '../postgres/database.ts'

/**
 * Returns a function that reads a row by a unique value, such as an id. Callers
 * that wait at the same time share a statement.
 *
 * @param statement selects the rows of all values in the array `$1`, each with
 *   its value in the column `wanted`. `= ANY ($1)` returns them in any order,
 *   once if a value occurs twice, and not at all if there is no row.
 * @returns a function that resolves with undefined if there is no row, and
 *   rejects with the errors of `Database.query`
 */
export function makeReadRow<
  Wanted,
  Row extends QueryResultRow & { wanted: Wanted }
>(
  database: Database,
  statement: Statement
): (wanted: Wanted) => Promise<Row | undefined> {
  return database.batch(statement, async (values: Wanted[]) => {
    const rows = await database.query<Row>(statement, [values], {
      callerMayRepeat: true
    })
    const rowByValue = new Map(rows.map((row) => [row.wanted, row]))
    return values.map((value) => rowByValue.get(value))
  })
}
