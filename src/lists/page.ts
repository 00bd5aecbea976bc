import { arrayBytes, type JsonBytes, type RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { inputRows, sql } from '../postgres/sql.ts'
import { type Lookup, sharedRead } from '../rows/shared-read.ts'
import type { Order } from './list-operation.ts'

/** A statement that reads a page of a list. */
interface PageRead<Column extends string, Schema> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL types of the columns of `input`, by name. */
  lookupTypes: Record<Column | 'size', string>
  /**
   * A SELECT of the first `input.size + 1` rows of the page, in the order of
   * the order column: the last one shows that another page follows. It has the
   * columns of the schema.
   */
  statement: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Schema>
}

/** A page of a list. */
export interface Page<Schema> {
  items: JsonBytes<Schema[]>
  /** The order column of the last item; null: it is the last page. */
  next: string | null
}

/**
 * Reads pages of `size` rows as JSON. Requests that wait at the same time share
 * a statement.
 *
 * @example
 * const readToys = readPage(database, {
 *   name: 'pages-of-toys',
 *   lookupTypes: { after: 'uuid', size: 'integer' },
 *   statement: sql`
 *     SELECT *
 *     FROM toys
 *     WHERE id > input.after
 *     ORDER BY id
 *     LIMIT input.size + 1
 *   `,
 *   json: Toy
 * })
 * const { items, next } = await readToys({
 *   after: keyBefore(cursor, 'uuid'),
 *   size: limit
 * })
 *
 * @returns reads a page; rejects like `Database.read`, and with Overloaded if
 *   too many requests wait
 */
export function readPage<Column extends string, Schema>(
  database: Database,
  page: PageRead<Column, Schema> & Order<Schema>
): (lookup: Lookup<Column | 'size'>) => Promise<Page<Schema>> {
  const { name, lookupTypes, statement, json, orderColumn = 'id' } = page
  const text = sql`
    SELECT
      convert_to(
        '[' || coalesce(array_to_string(found.items[:size], ','), '') || ']',
        'UTF8'
      ) AS items,
      CASE
        WHEN cardinality(found.items) > size THEN found.keys[size]::text
      END AS next
    FROM ${inputRows(lookupTypes)}
    CROSS JOIN LATERAL (
      SELECT
        array_agg(${orderColumn} ORDER BY ${orderColumn}) AS keys,
        array_agg(
          ${json.expression}
          ORDER BY ${orderColumn}
        ) AS items
      FROM (
        ${statement}
      ) AS item
    ) AS found
    ORDER BY ordinal
  `
  const read = sharedRead<
    Column | 'size',
    { items: Buffer; next: string | null }
  >(database, { name, lookupTypes, text })

  return async (values) => {
    const { items, next } = await read(values)

    return { items: arrayBytes(json, items), next }
  }
}
