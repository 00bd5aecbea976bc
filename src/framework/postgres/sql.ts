import { textArray } from './text-array.ts'

/**
 * A template tag for SQL that reads well in the code and in the log. It removes
 * the indentation of the code, and indents each line of an inserted fragment
 * like the line into which it is inserted.
 *
 * Fragments become part of the SQL as they are. Never insert a value of a
 * request: pass it as `$1`.
 *
 * @example sql`SELECT ${columns} FROM pets`
 */
export function sql(parts: TemplateStringsArray, ...fragments: string[]) {
  const text = parts.reduce((before, part, index) => {
    const fragment = String(fragments[index - 1])
    return before + indentedLike(before, fragment) + part
  })

  return removeIndentation(text)
}

/**
 * The fragment, with its further lines indented like the last line of the text.
 */
function indentedLike(text: string, fragment: string): string {
  const line = text.slice(text.lastIndexOf('\n') + 1)
  const indentation = ' '.repeat(line.search(/\S|$/))
  return fragment.replaceAll('\n', `\n${indentation}`)
}

function removeIndentation(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const indentations = lines.map((line) => line.search(/\S/))
  const common = Math.min(...indentations)
  return lines.map((line) => line.slice(common)).join('\n')
}

/**
 * A condition that is always true. PostgreSQL evaluates it before the rows of
 * its SELECT, and then lets the statement wait for each lock of a row or an
 * index for a quarter of a second (55P03). It does not limit the wait for a
 * lock of a table, which comes first.
 */
export const maxLockWait =
  "(SELECT set_config('lock_timeout', '250ms', true)) IS NOT NULL"

/**
 * SQL for a table of input rows, made from the parameters of a statement
 * (`inputParameters`): an array for each column, cast from text[] to its type.
 * The last column, `ordinal`, counts the rows from 1.
 *
 * The subqueries hide the lengths of the arrays from the planner. Without them,
 * PostgreSQL may replan at every execution, and planning can cost more than
 * running. Look up rows of a growing table with LATERAL and LIMIT: a join that
 * was planned for a small table would keep scanning it.
 *
 * @param types the SQL types of the columns, by name
 * @throws Error for an array: unnest would take it apart too
 */
export function inputTable(types: Record<string, string>): string {
  for (const [column, type] of Object.entries(types)) {
    if (type.endsWith('[]')) {
      throw new Error(
        `the column ${column} of input cannot be of the type ${type}: ` +
          'make it jsonb, and convert it in the statement'
      )
    }
  }

  const columns = Object.keys(types)
  const arrays = Object.values(types).map(
    (type, index) => `(SELECT $${index + 1}::text[]::${type}[])`
  )

  return [
    'unnest(',
    `  ${arrays.join(',\n  ')}`,
    `) WITH ORDINALITY AS input (${[...columns, 'ordinal'].join(', ')})`
  ].join('\n')
}

/**
 * The parameters for `inputTable`: a text[] for each column.
 *
 * @param rows at least one
 */
export function inputParameters(
  rows: readonly (readonly unknown[])[]
): Buffer[] {
  const [first = []] = rows
  return first.map((_value, column) =>
    textArray(rows.map((row) => row[column]))
  )
}
