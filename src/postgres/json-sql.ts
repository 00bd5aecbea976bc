import { rawSql } from './sql.ts'

/** Exists for the compiler only. */
declare const schema: unique symbol

/** An SQL expression that writes a row as the JSON of a schema. */
export type JsonSql<Schema> = string & {
  readonly [schema]: (value: Schema) => Schema
}

/**
 * Makes the SQL expression that writes a row as JSON: NULL if the first column
 * is, and without other columns that are NULL. Joined texts take PostgreSQL
 * half as long as `json_strip_nulls(json_build_object(…))`.
 *
 * @example jsonSql<Pet>({ id: 'id', categoryId: 'category_id', … })
 * @param columns the SQL of each property of the schema: the compiler demands
 *   all of them
 */
export function jsonSql<Schema>(columns: {
  [Property in keyof Schema]-?: string
}): JsonSql<Schema> {
  const [first, ...others] = Object.entries<string>(columns).map(
    ([name, column]) => `"${name}":' || to_json(${column})::text`
  )
  const optional = others.map((property) => `coalesce(',${property}, '')`)
  return [`'{${first}`, ...optional, `'}'`].join(' || ') as JsonSql<Schema>
}

/** The SQL of a time as the API returns it: in UTC, with milliseconds. */
export const utcTimeSql = (column: string) =>
  rawSql`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
