import type { FastifyRequest } from 'fastify'
import { sharedCall } from '../batch.ts'
import { HttpError } from '../errors.ts'
import { CachedBody } from '../http/cached-body.ts'
import { type JsonReply, type Sent, sendJson } from '../openapi/handler.ts'
import type { RawJson, RowJson } from '../openapi/json.ts'
import type { Database, Statement } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'
import type { ResponseBuffers } from './response-buffers.ts'

/**
 * SQL for a list as a JSON array, which PostgreSQL writes:
 *
 * | list                      | size  | body |
 * |---------------------------|-------|------|
 * | the version is still $1   | NULL  | NULL |
 * | it has more than $2 bytes | bytes | NULL |
 * | otherwise                 | bytes | JSON |
 *
 * The size is counted first, because PostgreSQL could need gigabytes for a list
 * that is then rejected.
 *
 * The version is that of all tables. docs/architecture.md says why equal
 * versions mean equal rows.
 *
 * @param items selects the columns `id` and `json` of each row. They
 *   are read twice
 */
const listSql = (items: string) => sql`
  WITH current_version AS MATERIALIZED (
    SELECT concat_ws(
      ' ',
      pg_current_snapshot(),
      pg_postmaster_start_time(),
      pg_stat_get_bgwriter_stat_reset_time(),
      current_database(),
      current_schema()
    ) AS version
  ),

  list AS MATERIALIZED (
    SELECT
      version,
      CASE WHEN version IS DISTINCT FROM $1 THEN (
        SELECT 1 + coalesce(sum(octet_length(json) + 1), 1)::double precision
        FROM (
          ${items}
        ) AS item
      ) END AS size
    FROM current_version
  )

  SELECT
    version,
    size,
    CASE WHEN size <= $2 THEN (
      SELECT '[' || coalesce(string_agg(json, ',' ORDER BY id), '') || ']'
      FROM (
        ${items}
      ) AS item
    ) END AS body
  FROM list
`

interface ListRow {
  version: string
  size: number | null
  body: string | null
}

/** A list that was read. */
interface ReadList {
  version: string
  /** Undefined if the list is too long. */
  body: CachedBody | undefined
}

/** The rows of a list. The order is that of the column `id`. */
interface ListDefinition<Item> {
  statementName: string
  /**
   * A table, or a view that reads only tables: the version does not show
   * changes of anything else.
   */
  table: string
  /** Writes an item. From generated/json.ts. */
  json: RowJson<Item>
}

/** Not a 503, because a repeated request would get the same error. */
export const listTooLong = new HttpError(
  507,
  'list_too_long',
  'The list is too long for this service: tell its operator'
)

/** The reply of an operation that lists items. */
type ListReply<Item> = JsonReply<200, Item[]> & {
  code: (status: 304) => { send: () => Sent }
}

/**
 * The handler of an operation that lists all rows of a table. Requests that
 * wait at the same time share a statement, which returns the list only if it
 * may have changed. A request never joins a statement that has started, so its
 * response has everything that was committed before the request arrived.
 */
export function listHandler<Item>(
  database: Database,
  buffers: ResponseBuffers,
  { statementName, table, json }: ListDefinition<Item>
) {
  const items = sql`
    SELECT
      id,
      ${json.expression}
      AS json
    FROM ${table}
  `
  const statement = database.prepare(statementName, listSql(items))
  const read = listReader(database, buffers.limit, statement)

  return async (
    request: Pick<FastifyRequest, 'headers'>,
    reply: ListReply<Item>
  ): Promise<Sent> => {
    const { body } = await read()
    if (body === undefined) throw listTooLong

    // The client may keep the list, but must check before each use that it is
    // unchanged (RFC 9111, section 5.2.2).
    reply.header('cache-control', 'private, no-cache')
    const encoded = await body.negotiate(request.headers, reply)
    if (encoded === undefined) return reply.code(304).send()

    buffers.track(encoded, reply.raw)
    return sendJson<200, Item[]>(reply, 200, encoded as RawJson<Item[]>)
  }
}

/**
 * Reads a list, and keeps the last one. A list that is read again after a
 * commit elsewhere, and has not changed, stays the same body, compressed only
 * once.
 */
function listReader(database: Database, maxSize: number, statement: Statement) {
  // Before the first read: no version of PostgreSQL is empty.
  let last: ReadList = { version: '', body: undefined }

  async function read(): Promise<ReadList> {
    // Otherwise, frequent commits could make bodies faster than they are
    // compressed, and these would fill the memory.
    await last.body?.compressionSettled()
    const values = [last.version, maxSize]
    const rows = await database.run('reads', statement, values)
    const [{ version, size, body: text }] = rows as [ListRow]
    if (size === null) return last

    const body = text === null ? undefined : new CachedBody(text)
    const isUnchanged = body?.etag === last.body?.etag
    last = { version, body: isUnchanged ? last.body : body }
    return last
  }

  return sharedCall(read, { maxWaitMs: database.timeoutMs })
}
