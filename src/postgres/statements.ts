import { textArray } from './text-array.ts'

/**
 * SQL for the input rows of a statement: a row for each request, numbered by
 * a last column. Its parameters are an array for each column (`columnsOf`).
 *
 * - Casting from text[] accepts every type in one format.
 * - The subqueries hide the lengths of the arrays from the planner. Without
 *   them, PostgreSQL may replan at every execution, and planning can cost more
 *   than running.
 * - Look up rows of a table that grows by LATERAL and LIMIT. The plan of a join
 *   that was made when the table was small would keep scanning it.
 *
 * @param types the SQL types of the columns
 * @example
 * `SELECT name FROM ${inputRows(['text'])} AS input (name, ordinal)`
 */
export function inputRows(types: readonly string[]): string {
  const arrays = types.map(
    (type, index) => `(SELECT $${index + 1}::text[]::${type}[])`
  )
  return `unnest(${arrays.join(', ')}) WITH ORDINALITY`
}

/**
 * The parameters for `inputRows`: an array for each column.
 *
 * @param rows at least one
 */
export function columnsOf(rows: readonly (readonly unknown[])[]): Buffer[] {
  const [first = []] = rows
  return first.map((_value, column) =>
    textArray(rows.map((row) => row[column]))
  )
}

/**
 * SQL for a timestamptz as text of RFC 3339: in UTC, to the millisecond,
 * whatever `datestyle` an operator has set.
 */
export const isoTime = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
