import type { FastifyRequest } from 'fastify'
import type { Reply, Sent } from '../openapi/handler.ts'
import { arrayBytes, type RowJson } from '../openapi/json.ts'
import { type JsonReply, sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../rows/shared-reader.ts'
import type { OrderColumn } from './order-column.ts'
import {
  cursorAfter,
  orderValueBefore,
  type OrderType,
  type PageQuery,
  linkToNextPage
} from './paging.ts'
import type { ResponseMemory } from './response-memory.ts'

/** A statement that reads a page of a list. */
interface PageRead<Filter extends string, Item> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL type of the order column, and of `input.after`. */
  orderType: OrderType
  /** The SQL types of the other columns of `input`, by name. */
  filterTypes: Record<Filter, string>
  /**
   * A SELECT of the first `input.size + 1` rows after `input.after`, in the
   * order of the order column: the last one shows that another page follows. It
   * has the columns of the schema.
   */
  statement: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Item>
}

/** Which page of a list to read. */
interface Position {
  /** The cursor of the request. Undefined selects the first page. */
  cursor: string | undefined
  /** Maximum number of items. */
  size: number
}

/** A page of a list, for `sendPage`. */
interface Page<Item> {
  /** The schema of the items. */
  json: RowJson<Item>
  /** A JSON array. */
  items: Buffer
  /** The cursor of the page that follows; null: it is the last page. */
  nextCursor: string | null
}

/**
 * A whole request, so that a Link cannot lack a part of its query. `raw` is not
 * read: an object with only a query, which may be a part of it, has none.
 */
type PageRequest = Pick<
  FastifyRequest<{ Querystring: PageQuery }>,
  'query' | 'raw'
>

type PageReply<Item> = JsonReply<200, Item[]> & Pick<Reply<never>, 'raw'>

/**
 * Reads pages as JSON. Requests that wait at the same time share a statement.
 *
 * @example
 * const readToys = pageReader(database, {
 *   name: 'pages-of-toys',
 *   orderType: 'uuid',
 *   filterTypes: { color: 'text' },
 *   statement: sql`
 *     SELECT *
 *     FROM toys
 *     WHERE color = input.color
 *       AND id > input.after
 *     ORDER BY id
 *     LIMIT input.size + 1
 *   `,
 *   json: Toy
 * })
 * const page = await readToys({ color }, { cursor, size: limit })
 *
 * return sendPage(reply, memory, page, request)
 *
 * @returns a function that reads a page; rejects like `Database.read`, with
 *   HttpError 400 for a cursor of another list, and with Overloaded if too many
 *   requests wait
 */
export function pageReader<Filter extends string, Item>(
  database: Database,
  definition: PageRead<Filter, Item> & OrderColumn<Item>
): (filters: InputRow<Filter>, position: Position) => Promise<Page<Item>> {
  const { name, orderType, json, statement, orderColumn = 'id' } = definition
  const inputTypes = {
    ...definition.filterTypes,
    after: orderType,
    size: 'integer'
  }
  const text = sql`
    SELECT
      convert_to(
        '[' || coalesce(array_to_string(found.items[:size], ','), '') || ']',
        'UTF8'
      ) AS items,
      CASE
        WHEN cardinality(found.items) > size THEN found.order_values[size]::text
      END AS next
    FROM ${inputTable(inputTypes)}
    CROSS JOIN LATERAL (
      SELECT
        array_agg(${orderColumn} ORDER BY ${orderColumn}) AS order_values,
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
  const read = sharedReader<string, { items: Buffer; next: string | null }>(
    database,
    { name, inputTypes, text }
  )

  return async (filters, { cursor, size }) => {
    const after = orderValueBefore(cursor, orderType)
    const { items, next } = await read({ ...filters, after, size })
    const nextCursor = next === null ? null : cursorAfter(next, orderType)
    return { json, items, nextCursor }
  }
}

/**
 * Sends a page, with a Link to the one that follows. Counts its memory until
 * the client has read it.
 *
 * @param request the Link repeats its query, so the next page has the same
 *   filters
 * @throws Overloaded if too much memory is reserved
 */
export function sendPage<Item>(
  reply: PageReply<Item>,
  memory: ResponseMemory,
  { json, items, nextCursor }: Page<Item>,
  { query }: PageRequest
): Sent {
  memory.reserveOwn(reply.raw, items.length)
  if (nextCursor !== null)
    reply.header('link', linkToNextPage(query, nextCursor))
  return sendJson(reply, 200, arrayBytes(json, items))
}
