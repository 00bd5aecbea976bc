import { arrayBytes, type JsonBytes, type RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { inputRows, sql } from '../postgres/sql.ts'
import { type Lookup, sharedRead } from '../rows/shared-read.ts'

/** A statement that reads a page of a list. */
interface PageRead<Column extends string, Schema> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL types of the columns of `input`, by name. */
  lookupTypes: Record<Column | 'size', string>
  /**
   * A SELECT of the first `input.size + 1` rows of the page, in the order of
   * their `id`: the last one shows that another page follows. It has the
   * columns of the schema.
   */
  statement: string
  /** From generated/json.ts. */
  row: RowJson<Schema>
}

/** A page of a list. */
export interface Page<Schema> {
  items: JsonBytes<Schema[]>
  /** The id before the next page; null after the last page. */
  next: bigint | null
}

/**
 * Reads pages of `size` rows as JSON. Requests that wait at the same time share
 * a statement.
 *
 * @returns reads a page; rejects like `Database.read`, and with Overloaded if
 *   too many requests wait
 */
export function readPage<Column extends string, Schema>(
  database: Database,
  { name, lookupTypes, statement, row }: PageRead<Column, Schema>
): (lookup: Lookup<Column | 'size'>) => Promise<Page<Schema>> {
  const text = sql`
    SELECT
      convert_to(
        '[' || coalesce(array_to_string(found.items[:size], ','), '') || ']',
        'UTF8'
      ) AS items,
      CASE
        WHEN cardinality(found.items) > size THEN found.ids[size]
      END AS next
    FROM ${inputRows(lookupTypes)}
    CROSS JOIN LATERAL (
      SELECT
        array_agg(id ORDER BY id) AS ids,
        array_agg(
          ${row.expression}
          ORDER BY id
        ) AS items
      FROM (
        ${statement}
      ) AS item
    ) AS found
    ORDER BY ordinal
  `
  const read = sharedRead<
    Column | 'size',
    { items: Buffer; next: bigint | null }
  >(database, { name, lookupTypes, text })

  return async (values) => {
    const { items, next } = await read(values)

    return { items: arrayBytes(row, items), next }
  }
}
