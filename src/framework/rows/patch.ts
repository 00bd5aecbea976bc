import { stringify } from 'safe-stable-stringify'
import type { BodyColumn } from '../openapi/json.ts'

/**
 * The SET of an UPDATE for a PATCH, whose body may have any of these columns.
 *
 * @param columns from generated/columns.ts
 * @param parameter of the statement: takes what `changesOf` returns
 *
 * @example
 * sql`UPDATE pets SET ${assignments('pets', PetChanges, '$2')} WHERE id = $1`
 */
export function assignments<Body>(
  table: string,
  columns: BodyColumn<Body>[],
  parameter: string
): string {
  const names = columns.map(({ column }) => column).join(', ')

  return [
    `(${names}) = (`,
    `  SELECT ${names}`,
    `  FROM jsonb_populate_record(${table}, ${parameter})`,
    ')'
  ].join('\n')
}

/**
 * The changes of the body of a PATCH, as JSON by columns: a property that the
 * body lacks stays as it is, and null becomes NULL (RFC 7396).
 */
export function changesOf<Body>(
  columns: BodyColumn<Body>[],
  body: Body
): string {
  const changes = columns.map(({ property, column }): [string, unknown] => [
    column.replaceAll('"', ''),
    body[property]
  ])

  return stringify(Object.fromEntries(changes))
}
