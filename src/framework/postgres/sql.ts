import dedent from 'dedent'

/**
 * A template tag for SQL that reads well in the code and in
 * generated/statements.sql. It removes the indentation of the code, and indents
 * each line of an inserted fragment like the line into which it is inserted.
 *
 * Fragments become part of the SQL as they are. Never insert a value of a
 * request: pass it as `$1`.
 *
 * @example sql`SELECT ${columns} FROM pets`
 */
export const sql: (
  parts: TemplateStringsArray,
  ...fragments: string[]
) => string = dedent.withOptions({ alignValues: true })

/**
 * The settings of each statement that changes something, as a condition that is
 * always true, because a SET would be another statement. The subquery does not
 * depend on rows, so PostgreSQL evaluates it once, before them. From then on:
 *
 * - Each wait for a lock of a row or an index fails after 250 ms (55P03). The
 *   wait for a lock of a table comes before.
 * - The commit survives a crash, and waits for the synchronous standby.
 * - If that wait is cancelled, the server sends its warning.
 */
export const writeSettings = sql`
  (
    SELECT
      set_config('lock_timeout', '250ms', true) ||
      set_config('synchronous_commit', 'on', true) ||
      set_config('client_min_messages', 'warning', true)
  ) IS NOT NULL
`

/**
 * SQL for a table of input rows, made from the parameter of a statement: a JSON
 * array of rows, each of which is an array of values. The last column,
 * `ordinal`, counts the rows from 1. The parameter is not an array of SQL,
 * because a server with `array_nulls = off` would read its NULLs as texts.
 *
 * The planner expects 100 rows, whatever the parameter is. So PostgreSQL plans
 * the statement once. Look up rows of a growing table with LATERAL and LIMIT: a
 * join that was planned for a small table would keep scanning it.
 *
 * @param types the SQL types of the columns, by name. An array must be jsonb:
 *   its text in JSON is not the one in SQL
 */
export function inputTable(types: Record<string, string>): string {
  const columns = Object.entries(types).map(
    ([column, type], index) => `(value ->> ${index})::${type} AS ${column}`
  )

  return sql`
    (
      SELECT
        ${[...columns, 'ordinal'].join(',\n')}
      FROM jsonb_array_elements($1) WITH ORDINALITY AS input (value, ordinal)
    ) AS input
  `
}
