import type { QueryResultRow } from 'pg'
import type { Database, Statement } from '../postgres/database.ts'

/**
 * Returns a function that reads a row by a unique value, such as an id. Callers
 * that wait at the same time share a statement.
 *
 * @param statement selects the rows of all values in the array `$1`, each with
 *   its value in the column `lookup_value`. `= ANY ($1)` returns them in any order,
 *   once if a value occurs twice, and not at all if there is no row.
 * @returns a function that resolves with undefined if there is no row, and
 *   rejects with the errors of `Database.read`
 */
export function makeReadRow<
  Value,
  Row extends QueryResultRow & { lookup_value: Value }
>(
  database: Database,
  statement: Statement
): (value: Value) => Promise<Row | undefined> {
  return database.batch(statement, async (values: Value[]) => {
    const rows = await database.read<Row>(statement, [values])
    const rowByValue = new Map(rows.map((row) => [row.lookup_value, row]))
    return values.map((value) => rowByValue.get(value))
  })
}
