import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'
import { nameStatement } from '../statement-names.ts'

/** Maximum number of rows in a page. */
const maxRows = 1000

/** Bytes. Maximum size of a page, unless it is one row. */
export const maxPageSize = 2 ** 18

/** A page of a JSON array, or all of it. */
export interface Page {
  /** `[` before the first item, `]` after the last one. */
  bytes: Buffer
  /** The id of the last item; null: the list is complete. */
  lastId: string | null
}

interface Row {
  /** The items, each after a comma; null if they are too long. */
  items: string | null
  /** Bytes of the items. */
  size: number
  count: number
  /** Rows whose JSON is NULL. */
  nulls: number
  lastId: string | null
}

/** PostgreSQL writes the JSON: one value instead of thousands of objects. */
const pageOf = (table: string, row: string) => sql`
  SELECT
    CASE WHEN $2 = 1 OR octet_length(items) <= ${String(maxPageSize)}
      THEN items
    END AS items,
    octet_length(items) AS size,
    count,
    nulls,
    "lastId"
  FROM (
    SELECT
      coalesce(string_agg(',' || json, ''), '') AS items,
      count(*)::integer AS count,
      (count(*) - count(json))::integer AS nulls,
      CASE count(*) WHEN $2 THEN max(id)::text END AS "lastId"
    FROM (
      SELECT id, ${row} AS json
      FROM ${table}
      WHERE id > coalesce($1::bigint, -9223372036854775808)
      ORDER BY id
      LIMIT $2
    ) AS item
  ) AS page
`

/** Reads all rows of a table as a JSON array, in pages of about 128 KiB. */
export class TableReader {
  readonly #database: Pick<Database, 'read'>
  readonly #table: string
  readonly #query: { name: string; text: string }
  /** Rows of the next page. */
  #rows = maxRows

  /**
   * @param table must have a bigint `id`
   * @param row writes a row as a JSON object
   */
  constructor(database: Pick<Database, 'read'>, table: string, row: string) {
    this.#database = database
    this.#table = table
    this.#query = { name: `page-of-${table}`, text: pageOf(table, row) }
    nameStatement(database, this.#query.name, this.#query.text)
  }

  /**
   * Reads a page.
   *
   * @param previousId the id of the last item of the page before; null for the
   *   first page
   * @throws Error if a row has no JSON: string_agg would leave it out
   */
  async readPage(previousId: string | null): Promise<Page> {
    const values = [previousId, this.#rows]
    const [row] = await this.#database.read<Row>({ ...this.#query, values })
    // The statement always returns one row.
    const { items, size, count, nulls, lastId } = row as Row
    if (nulls > 0)
      throw new Error(`the JSON of ${nulls} rows of ${this.#table} is NULL`)

    this.#rows = rowsOfNextPage(count, size)
    if (items === null) return this.readPage(previousId)

    const isFirst = previousId === null
    const opening = isFirst ? '[' : ''
    const closing = lastId === null ? ']' : ''
    // The first item of the list has no comma.
    const list = isFirst ? items.slice(1) : items
    return { bytes: Buffer.from(opening + list + closing), lastId }
  }
}

/** So many rows that a page has half of its maximum size. */
function rowsOfNextPage(count: number, size: number): number {
  if (count === 0) return maxRows
  const rowSize = size / count
  return Math.min(maxRows, Math.ceil(maxPageSize / 2 / rowSize))
}
