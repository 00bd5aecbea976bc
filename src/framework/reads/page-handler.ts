import { type JsonReply, sendJson } from '../openapi/handler.ts'
import type { DocumentedPage, RawJson, RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../shared-reader.ts'
import type { ResponseBuffers } from './response-buffers.ts'

/** Pages that one statement reads. All of them are in memory together. */
const maxPages = 10

/**
 * A statement that reads pages of a list, up to ten together. These must fit
 * into MAX_RESPONSE_BUFFER_BYTES: otherwise, one page would cut off another.
 */
interface PageDefinition<Filter extends string, Item> extends DocumentedPage {
  statementName: string
  /** The SQL types of the other columns of `input`, by name. */
  filterTypes: Record<Filter, string> & { after?: never; size?: never }
  /**
   * A SELECT of the rows after `input.after`, with the columns of the schema,
   * and without ORDER BY and LIMIT.
   */
  select: string
  /**
   * The columns of the ORDER BY: by default, the id. A column that is the same
   * in all rows of the page may come first, to make PostgreSQL use an index of
   * both.
   */
  order?: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Item>
}

interface Page<Item> {
  items: RawJson<Item[], Buffer>
  /** The id of its last item, if another page follows. */
  next: string | null
}

/** A request for a page. */
interface PageRequest {
  /** Its parameters. The Link to the next page repeats them. */
  query: Record<string, string | number | bigint | boolean | undefined> & {
    after: string | bigint
    limit: number
  }
}

/**
 * SQL for pages as JSON. One row more than a page has shows that another page
 * follows.
 *
 * The planner does not know the limit of a request. Without the constant one,
 * it would expect a tenth of the table in each page, and compile that plan.
 *
 * The items are bytes, because requests that share a page share its Buffer,
 * which ResponseBuffers counts once.
 */
const pageSql = <Filter extends string, Item>(
  inputTypes: Record<string, string>,
  { select, order = 'id', maxSize, json }: PageDefinition<Filter, Item>
) => sql`
  SELECT
    convert_to(
      '[' || coalesce(array_to_string(found.items[:size], ','), '') || ']',
      'UTF8'
    ) AS items,
    CASE
      WHEN cardinality(found.items) > size THEN found.ids[size]::text
    END AS next
  FROM ${inputTable(inputTypes)}
  CROSS JOIN LATERAL (
    SELECT
      array_agg(id ORDER BY id) AS ids,
      array_agg(
        ${json.expression}
        ORDER BY id
      ) AS items
    FROM (
      SELECT *
      FROM (
        ${select}
        ORDER BY ${order}
        LIMIT ${String(maxSize + 1)}
      ) AS largest_page
      ORDER BY ${order}
      LIMIT input.size + 1
    ) AS item
  ) AS found
  ORDER BY ordinal
`

/**
 * A Link to the page after an id (RFC 8288). It is relative, because a proxy
 * may hide the address of the service, and change the path.
 */
function linkTo(after: string, query: PageRequest['query']): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...query, after }))
    if (value !== undefined) parameters.append(name, String(value))

  return `<?${parameters.toString()}>; rel="next"`
}

/**
 * The handler of an operation that lists the rows of a table in pages, with the
 * parameters `limit` and `after`: the id of the last item of the page before.
 * Unlike the number of a page, an id does not shift when items are created
 * meanwhile. Requests that wait at the same time share a statement.
 *
 * @example
 * const toys = pageHandler(database, buffers, {
 *   ...listToysPage,
 *   statementName: 'listToys',
 *   filterTypes: { color: 'text' },
 *   select: sql`
 *     SELECT *
 *     FROM toys
 *     WHERE color = input.color
 *       AND id > input.after
 *   `,
 *   json: toyJson
 * })
 *
 * return toys(request, reply, { color: 'red' })
 *
 * @returns a handler that also takes the filters, if any; rejects with the
 *   errors of `Database.run`, and with Overloaded if too many requests wait
 */
export function pageHandler<
  Filter extends string,
  Item extends { id: unknown }
>(
  database: Database,
  buffers: ResponseBuffers,
  definition: PageDefinition<Filter, Item>
) {
  const { statementName, idType } = definition
  const inputTypes = {
    ...definition.filterTypes,
    after: idType,
    size: 'integer'
  }
  const read = sharedReader<string, Page<Item>>(database, {
    statementName,
    inputTypes,
    text: pageSql(inputTypes, definition),
    maxInputRows: maxPages
  })

  return async (
    { query }: PageRequest,
    reply: JsonReply<200, Item[]>,
    filters?: Partial<InputRow<Filter>>
  ) => {
    const { after, limit: size } = query
    const { items, next } = await read({ ...filters, after, size })
    buffers.track(items, reply.raw)
    if (next !== null) reply.header('link', linkTo(next, query))

    return sendJson(reply, 200, items)
  }
}
