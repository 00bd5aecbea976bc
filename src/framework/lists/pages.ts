import type { FastifyRequest } from 'fastify'
import { badRequest } from '../http/errors.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import { arrayBytes, type RowJson } from '../openapi/json.ts'
import { type JsonReply, sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../rows/shared-reader.ts'
import type { ResponseMemory } from './response-memory.ts'

/** The ids of an SQL type, as text. */
interface IdType {
  /** Precedes each id. */
  lowest: string
  /** Whether PostgreSQL can cast the text. */
  includes: (text: string) => boolean
}

const idTypes: Record<'bigint' | 'uuid', IdType> = {
  bigint: {
    lowest: '-9223372036854775808',
    includes: (text) =>
      /^-?\d{1,19}$/.test(text) &&
      BigInt.asIntN(64, BigInt(text)) === BigInt(text)
  },
  uuid: {
    lowest: '00000000-0000-0000-0000-000000000000',
    includes: (text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)
  }
}

/** A statement that reads a page of a list. */
interface PageRead<Filter extends string, Item> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL type of the column `id`, and of `input.after`. */
  idType: keyof typeof idTypes
  /** The SQL types of the other columns of `input`, by name. */
  filterTypes: Record<Filter, string>
  /**
   * A SELECT of the first `input.size + 1` rows after `input.after`, in the
   * order of the id: the last one shows that another page follows. It has the
   * columns of the schema.
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

/** The query parameters of a list. A Link cannot repeat an array. */
type PageQuery = Record<string, string | number | bigint | boolean | undefined>

/**
 * Reads pages as JSON. Requests that wait at the same time share a statement.
 *
 * A cursor is the id of the last item of a page, in base64url. Unlike the
 * number of a page, it does not shift when items are created meanwhile. It is
 * opaque, so that it may change.
 *
 * @example
 * const readToys = pageReader(database, {
 *   name: 'pages-of-toys',
 *   idType: 'uuid',
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
export function pageReader<Filter extends string, Item extends { id: unknown }>(
  database: Database,
  { name, idType, filterTypes, statement, json }: PageRead<Filter, Item>
) {
  const { lowest, includes } = idTypes[idType]
  const inputTypes = { ...filterTypes, after: idType, size: 'integer' }
  const text = sql`
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
        ${statement}
      ) AS item
    ) AS found
    ORDER BY ordinal
  `
  const read = sharedReader<string, { items: Buffer; next: string | null }>(
    database,
    { name, inputTypes, text }
  )

  return async (
    filters: InputRow<Filter>,
    { cursor, size }: Position
  ): Promise<Page<Item>> => {
    const after =
      cursor === undefined ? lowest : String(Buffer.from(cursor, 'base64url'))
    if (!includes(after)) {
      throw badRequest(
        'query.cursor must be taken from the Link header of the previous page, or left out'
      )
    }
    const { items, next } = await read({ ...filters, after, size })
    const nextCursor =
      next === null ? null : Buffer.from(next).toString('base64url')

    return { json, items, nextCursor }
  }
}

/**
 * Sends a page, with a Link (RFC 8288) to the one that follows. Counts its
 * memory until the client has read it.
 *
 * @param request the Link repeats its query, so the next page has the same
 *   filters
 * @throws Overloaded if the page exceeds the memory
 */
export function sendPage<Item>(
  reply: JsonReply<200, Item[]> & Pick<Reply<never>, 'raw'>,
  memory: ResponseMemory,
  { json, items, nextCursor }: Page<Item>,
  { query }: PageRequest
): Sent {
  memory.hold(items, reply.raw)
  if (nextCursor !== null) {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries({
      ...query,
      cursor: nextCursor
    }))
      if (value !== undefined) parameters.append(name, String(value))
    // Relative, because a proxy may hide the address and change the path.
    reply.header('link', `<?${parameters.toString()}>; rel="next"`)
  }

  return sendJson(reply, 200, arrayBytes(json, items))
}
