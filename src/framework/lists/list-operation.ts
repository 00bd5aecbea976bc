import type { Sent } from '../openapi/handler.ts'
import type { RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { CachedList } from './cached-list.ts'
import { ChangeCheck } from './change-check.ts'
import { FilteredLists } from './filtered-lists.ts'
import {
  type ListContext,
  type ListReply,
  type ListRequest,
  sendStream,
  sendWhole,
  setCacheHeaders
} from './list-response.ts'
import type { OrderColumn } from './order-column.ts'
import type { ResponseMemory } from './response-memory.ts'
import { type Condition, PieceStatements, TableReader } from './table-reader.ts'

/** The items of a list. */
interface List<Item> {
  /** It must be watched by `CALL record_changes_of('table')`. */
  table: string
  /**
   * The base of the names of the statements, by default the table. A second
   * list of the table with other items or another order needs a different base.
   */
  name?: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Item>
}

/** Conditions in SQL, by the names of query parameters. */
type Filters<Filter extends string> = Record<Filter, Condition['sql']>

interface FilteredRequest<Filter extends string> extends ListRequest {
  query: Partial<Record<Filter, unknown>>
}

/**
 * The handler of an operation that lists all rows of a table, in the order of a
 * column.
 *
 * @throws Error if another list has the names of its statements
 */
export function listOperation<Item>(
  database: Database,
  memory: ResponseMemory,
  { table, name, json, orderColumn = 'id' }: List<Item> & OrderColumn<Item>
) {
  const listed = { table, name, itemJson: json.expression, orderColumn }
  const list = new CachedList(
    new TableReader(database, new PieceStatements(database, listed)),
    new ChangeCheck(database, table),
    memory.lists
  )
  const context = { json, memory }

  return (request: ListRequest, reply: ListReply<Item>): Promise<Sent> =>
    sendList(list, request, reply, context)
}

/**
 * The handler of an operation that lists the rows of a table that query
 * parameters select, in the order of a column. Each selection is a list of its
 * own, with an ETag and compression, and is read again only when the table has
 * changed.
 *
 * @param list.filters at most four: the condition for each parameter, with a
 *   placeholder for its value. A request without the parameter has no such
 *   condition. The value is text, or an array of texts: PostgreSQL converts it
 *   to the type of the column.
 * @example filters: { status: (placeholder) => `status = ${placeholder}` }
 * @throws Error if another list has the names of its statements, or if there
 *   are more than four filters
 */
export function filteredListOperation<Item, Filter extends string>(
  database: Database,
  memory: ResponseMemory,
  list: List<Item> & OrderColumn<Item> & { filters: Filters<Filter> }
) {
  const { table, name, json, orderColumn = 'id' } = list
  const conditions = Object.entries<Condition['sql']>(list.filters).map(
    ([parameter, sql]) => ({ name: parameter, sql })
  )
  const listed = { table, name, itemJson: json.expression, orderColumn }
  const lists = new FilteredLists(database, memory.lists, listed, conditions)
  const context = { json, memory }

  return (
    request: FilteredRequest<Filter>,
    reply: ListReply<Item>
  ): Promise<Sent> => sendList(lists.of(request.query), request, reply, context)
}

async function sendList<Item>(
  list: CachedList,
  request: ListRequest,
  reply: ListReply<Item>,
  context: ListContext<Item>
): Promise<Sent> {
  const current = await list.current()
  setCacheHeaders(reply)

  switch (current.kind) {
    case 'whole':
      return sendWhole(current.body, request, reply, context)
    case 'start':
      return sendStream(current, list.streams, request, reply, context)
  }
}
