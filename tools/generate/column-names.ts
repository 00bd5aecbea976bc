// Names of columns in generated SQL.

/**
 * Columns that src/framework/creates/insert-statement.ts adds to those of a
 * body. A body that has one of these would make it ambiguous.
 */
const columnsOfCreates = [
  'body_hash',
  'early_outcome',
  'id',
  'key_hash',
  'ordinal',
  'pg_logical_emit_message',
  'record_body_hash',
  'record_response',
  'response'
]

/** The column of a property, as SQL: quoted, since it may be a keyword. */
export function columnOf(property: string): string {
  const name = property.replace(
    /[A-Z]/g,
    (letter) => `_${letter.toLowerCase()}`
  )
  return `"${name.replaceAll('"', '""')}"`
}

/** Whether creates could not store a body that has the property. */
export const isColumnOfCreates = ({ column }: { column: string }) =>
  columnsOfCreates.includes(column.slice(1, -1))
