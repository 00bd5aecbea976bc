import type { FastifyRequest } from 'fastify'
import { badRequest } from '../errors.ts'
import { type JsonReply, sendJson } from '../openapi/handler.ts'
import type { RawJson, RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../shared-reader.ts'
import { type ResponseBuffers, listTooLong } from './response-buffers.ts'

/**
 * The SQL types of ids. `lowest` precedes each id, so no row may have it.
 * `isValid` tells whether PostgreSQL can cast a text to the type.
 */
const idTypes = {
  bigint: {
    lowest: '-9223372036854775808',
    isValid: (text: string) =>
      /^-?\d{1,19}$/.test(text) &&
      BigInt.asIntN(64, BigInt(text)) === BigInt(text)
  },
  uuid: {
    lowest: '00000000-0000-0000-0000-000000000000',
    isValid: (text: string) =>
      /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)
  }
}

/** Pages of one statement, which are in memory together. */
const maxPages = 10

/**
 * A statement that reads a page of a list. Ten pages must fit into
 * MAX_RESPONSE_BUFFER_BYTES: otherwise, they end each other's connections.
 */
interface PageDefinition<Filter extends string, Item> {
  statementName: string
  /** The SQL type of the column `id`, and of `input.after`. */
  idType: keyof typeof idTypes
  /** The SQL types of the other columns of `input`, by name. */
  filterTypes: Record<Filter, string>
  /**
   * A SELECT of the first `input.size + 1` rows after `input.after`, in the
   * order of the id: the last one shows that another page follows. It has the
   * columns of the schema.
   */
  select: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Item>
}

interface Page<Item> {
  items: RawJson<Item[], Buffer>
  /** The id of its last item, if another page follows. */
  next: string | null
}

/** A request for a page. */
interface PageRequest extends Pick<FastifyRequest, 'log'> {
  /** Its parameters. The Link to the next page repeats them. */
  query: Record<string, string | number | bigint | boolean | undefined> & {
    limit: number
    cursor?: string | undefined
  }
}

// The items are bytes, because requests that share a page share its Buffer,
// which ResponseBuffers counts once.
const pageSql = (
  inputTypes: Record<string, string>,
  select: string,
  itemJson: string
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
        ${itemJson}
        ORDER BY id
      ) AS items
    FROM (
      ${select}
    ) AS item
  ) AS found
  ORDER BY ordinal
`

const cursorOf = (id: string) => Buffer.from(id).toString('base64url')

/** The text in a cursor. Node.js also decodes what `cursorOf` never makes. */
function idIn(cursor: string): string | undefined {
  const id = Buffer.from(cursor, 'base64url').toString()
  return cursorOf(id) === cursor ? id : undefined
}

/**
 * A Link to the page after an id (RFC 8288). It is relative, because a proxy
 * may hide the address of the service, and change the path.
 */
function linkTo(id: string, query: PageRequest['query']): string {
  const cursor = cursorOf(id)
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...query, cursor }))
    if (value !== undefined) parameters.append(name, String(value))

  return `<?${parameters.toString()}>; rel="next"`
}

/**
 * The handler of an operation that lists the rows of a table in pages. Requests
 * that wait at the same time share a statement.
 *
 * A cursor is the id of the last item of a page, in base64url. Unlike the
 * number of a page, it does not shift when items are created meanwhile. It is
 * opaque, so that it may change.
 *
 * @example
 * const toys = pageHandler(database, buffers, {
 *   statementName: 'listToys',
 *   idType: 'uuid',
 *   filterTypes: { color: 'text' },
 *   select: sql`
 *     SELECT *
 *     FROM toys
 *     WHERE color = input.color
 *       AND id > input.after
 *     ORDER BY id
 *     LIMIT input.size + 1
 *   `,
 *   json: toyJson
 * })
 *
 * return toys(request, reply, { color: 'red' })
 *
 * @returns a handler that also takes the filters; rejects with the errors of
 *   `Database.run`, with Overloaded if too many requests wait, and with
 *   HttpError: 400 for a cursor that is no id of this type, 503 for a page that
 *   exceeds the limit
 */
export function pageHandler<
  Filter extends string,
  Item extends { id: unknown }
>(
  database: Database,
  buffers: ResponseBuffers,
  {
    statementName,
    idType,
    filterTypes,
    select,
    json
  }: PageDefinition<Filter, Item>
) {
  const { lowest, isValid } = idTypes[idType]
  const inputTypes = { ...filterTypes, after: idType, size: 'integer' }
  const text = pageSql(inputTypes, select, json.expression)
  const read = sharedReader<string, Page<Item>>(database, {
    statementName,
    inputTypes,
    text,
    maxInputRows: maxPages
  })

  return async (
    { query, log }: PageRequest,
    reply: JsonReply<200, Item[]>,
    filters: Partial<InputRow<Filter>>
  ) => {
    const { cursor, limit: size } = query
    const after = cursor === undefined ? lowest : idIn(cursor)
    if (after === undefined || !isValid(after)) {
      throw badRequest(
        'query.cursor must be taken from the Link header of the previous page, or left out'
      )
    }

    const { items, next } = await read({ ...filters, after, size })
    if (items.length > buffers.limit)
      throw listTooLong(log, statementName, items.length, buffers)
    buffers.hold(items, reply.raw)
    if (next !== null) reply.header('link', linkTo(next, query))

    return sendJson(reply, 200, items)
  }
}
