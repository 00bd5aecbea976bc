import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'
import { currentSpan, inSpan } from '../tracing/spans.ts'

/** Maximum number of rows in a piece. */
const maxRows = 1000

/** Bytes. Maximum size of a piece, unless it is one row. */
export const maxPieceSize = 2 ** 18

/** A piece of a JSON array, or all of it. */
export interface ListPiece {
  /** `[` before the first item, `]` after the last one. */
  bytes: Buffer
  /** The order column of the last item; null: the list is complete. */
  lastOrderValue: string | null
}

/** What the statement of a piece returns. */
interface PieceRow {
  /** The items, each after a comma; null if they are too long. */
  items: string | null
  /** Bytes of the items. */
  size: number
  count: number
  /** Rows whose JSON is NULL. */
  nulls: number
  lastOrderValue: string | null
}

/** The rows of a list. */
export interface ListedTable {
  table: string
  /** The base of the names of the statements; by default the table. */
  name?: string | undefined
  /** A unique column without NULL, which orders the rows. */
  orderColumn: string
  /** SQL that writes a row as a JSON object. */
  itemJson: string
}

/** Conditions on the rows, by name. */
export interface Condition {
  name: string
  /** The SQL of the condition. A placeholder, such as `$2`, is the value. */
  sql: (placeholder: string) => string
}

/**
 * PostgreSQL writes the JSON: one value instead of thousands of objects. A full
 * piece may have a successor, so it has a `lastOrderValue`.
 */
const writePieceQuery = (
  { table, orderColumn, itemJson }: ListedTable,
  where: string
) => sql`
  SELECT
    CASE WHEN $1 = 1 OR octet_length(items) <= ${String(maxPieceSize)}
      THEN items
    END AS items,
    octet_length(items) AS size,
    count,
    nulls,
    "lastOrderValue"
  FROM (
    SELECT
      coalesce(string_agg(',' || json, ''), '') AS items,
      count(*)::integer AS count,
      (count(*) - count(json))::integer AS nulls,
      CASE WHEN count(*) = $1
        THEN (array_agg(order_value))[$1]::text
      END AS "lastOrderValue"
    FROM (
      SELECT ${orderColumn} AS order_value, ${itemJson} AS json
      FROM ${table}
      WHERE ${where}
      ORDER BY ${orderColumn}
      LIMIT $1::integer
    ) AS item
  ) AS piece
`

/**
 * The statements that read a list: its first piece, and the piece after a
 * value. There are two, because PostgreSQL searches the index only for a plain
 * comparison.
 */
export class PieceStatements {
  readonly table: string
  readonly first: NamedStatement
  readonly next: NamedStatement

  /** @throws Error if another list has the names of the statements */
  constructor(
    database: Database,
    listed: ListedTable,
    conditions: Condition[] = []
  ) {
    const names = conditions.map(({ name }) => `-by-${name}`)
    // $1 is the number of rows.
    const filters = conditions.map(
      (condition, index) => `(${condition.sql(`$${index + 2}`)})`
    )
    const afterValue = `${listed.orderColumn} > $${conditions.length + 2}`

    this.table = listed.table
    const name = `piece-of-${listed.name ?? listed.table}${names.join('')}`
    this.first = database.statements.add(
      name,
      writePieceQuery(listed, allOf(filters))
    )
    this.next = database.statements.add(
      `next-${name}`,
      writePieceQuery(listed, allOf([...filters, afterValue]))
    )
  }
}

function allOf(conditions: string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join('\n  AND ')
}

/** Reads the rows of a list as a JSON array, in pieces of about 128 KiB. */
export class TableReader {
  readonly #database: Database
  readonly #statements: PieceStatements
  readonly #values: unknown[]
  /** Rows of the next piece, at most. */
  #nextRows = maxRows

  /** @param values for the placeholders of the conditions */
  constructor(
    database: Database,
    statements: PieceStatements,
    values: unknown[] = []
  ) {
    this.#database = database
    this.#statements = statements
    this.#values = values
  }

  /**
   * Reads a piece.
   *
   * @param previousOrderValue the order column of the last item of the piece
   *   before; null for the first piece
   * @throws Error if a row has no JSON: string_agg would leave it out
   */
  async readPiece(previousOrderValue: string | null): Promise<ListPiece> {
    const span = currentSpan()
    const tryToRead = () => this.#tryToRead(previousOrderValue)

    let piece = await tryToRead()
    // Too long: there are fewer rows each time, and one row is never too long.
    while (piece.items === null) piece = await inSpan(span, tryToRead)

    const { items, lastOrderValue } = piece
    const isFirst = previousOrderValue === null
    const opening = isFirst ? '[' : ''
    const closing = lastOrderValue === null ? ']' : ''
    // The first item of the list has no comma.
    const list = isFirst ? items.slice(1) : items

    return { bytes: Buffer.from(opening + list + closing), lastOrderValue }
  }

  /** Reads a piece, and adapts the number of rows of the next one. */
  async #tryToRead(previousOrderValue: string | null): Promise<PieceRow> {
    const query = this.#queryAfter(previousOrderValue)
    const [row] = await this.#database.read<PieceRow>(query)
    // The statement always returns one row.
    const piece = row as PieceRow

    if (piece.nulls > 0) {
      const { table } = this.#statements
      throw new Error(`the JSON of ${piece.nulls} rows of ${table} is NULL`)
    }

    this.#nextRows = rowsOfNextPiece(piece.count, piece.size)

    return piece
  }

  #queryAfter(previousOrderValue: string | null) {
    const { first, next } = this.#statements
    const values = [this.#nextRows, ...this.#values]

    return previousOrderValue === null
      ? { ...first, values }
      : { ...next, values: [...values, previousOrderValue] }
  }
}

/** The number of rows that fill half of a piece of maximum size. */
function rowsOfNextPiece(count: number, size: number): number {
  if (count === 0) return maxRows
  const rowSize = size / count
  return Math.min(maxRows, Math.ceil(maxPieceSize / 2 / rowSize))
}
