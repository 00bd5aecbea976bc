import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../errors.ts'
import type { SerializedJson } from '../openapi/operation-handler.ts'
import type { Database, Statement } from '../postgres/database.ts'
import type { JsonSql } from '../postgres/json-sql.ts'
import { rawSql } from '../postgres/sql.ts'
import { CachedBody } from './cached-body.ts'
import type { ResponseBuffers } from './response-buffers.ts'

/**
 * SQL for a list as a JSON array, which PostgreSQL writes:
 *
 * | list                        | size  | body |
 * |-----------------------------|-------|------|
 * | the fingerprint is still $1 | NULL  | NULL |
 * | it has more than $2 bytes   | bytes | NULL |
 * | otherwise                   | bytes | JSON |
 *
 * The fingerprint is that of the whole server: any commit changes it, even in
 * another database. Its two times make it unique across restarts and crashes.
 * docs/architecture.md says why equal fingerprints mean equal rows. `$2` limits
 * only what is sent: PostgreSQL builds the whole list before it measures it.
 */
const listSql = (table: string, rowJsonSql: string) => rawSql`
  WITH current_fingerprint AS MATERIALIZED (
    SELECT concat_ws(
      ' ',
      pg_current_snapshot(),
      pg_postmaster_start_time(),
      pg_stat_get_bgwriter_stat_reset_time()
    ) AS fingerprint
  ),

  list AS MATERIALIZED (
    SELECT
      fingerprint,
      CASE WHEN fingerprint IS DISTINCT FROM $1 THEN (
        SELECT '[' || coalesce(string_agg(${rowJsonSql}, ',' ORDER BY id), '') || ']'
        FROM ${table}
      ) END AS body
    FROM current_fingerprint
  )

  SELECT
    fingerprint,
    octet_length(body) AS size,
    CASE WHEN octet_length(body) <= $2 THEN body END AS body
  FROM list
`

interface ListRow {
  fingerprint: string
  size: number | null
  body: string | null
}

/** The newest list that this replica has read. */
interface CachedList {
  fingerprint: string
  /** Undefined if the list is too long. */
  body: CachedBody | undefined
}

/** The rows of a list, in the order of the column `id`. */
interface ListDefinition<Item> {
  operationId: string
  /**
   * A table, or a view that reads only tables: the fingerprint does not show
   * changes of anything else.
   */
  table: string
  /** Writes an item. */
  rowJsonSql: JsonSql<Item>
}

/** Not a 503, because a repeated request would get the same error. */
const listTooLongError = new HttpError(
  507,
  'list_too_long',
  'The list is too long for this service: tell its operator'
)

/**
 * The handler of an operation that lists all rows of a table. Requests that
 * wait at the same time share a statement, which returns the list only if it
 * may have changed. A request never joins a statement that has started, so its
 * response has everything that was committed before the request arrived.
 */
export function makeListHandler<Item>(
  database: Database,
  buffers: ResponseBuffers,
  { operationId, table, rowJsonSql }: ListDefinition<Item>
) {
  const statement = database.defineStatement(
    operationId,
    listSql(table, rowJsonSql)
  )
  const read = makeReadList(database, buffers.limit, statement)

  return async (
    request: Pick<FastifyRequest, 'headers'>,
    reply: FastifyReply
  ): Promise<SerializedJson<Item[]> | FastifyReply> => {
    const { body } = await read()
    if (body === undefined) throw listTooLongError

    const { headers, content } = await body.negotiate(request.headers)
    if (content !== undefined) buffers.track(body, reply.raw)
    // The client may keep the list, but must check before each use that it is
    // unchanged (RFC 9111, section 5.2.2).
    reply.headers({ ...headers, 'cache-control': 'private, no-cache' })
    return content === undefined
      ? reply.removeHeader('content-type').code(304).send()
      : (content as SerializedJson<Item[]>)
  }
}

/**
 * Makes a function that reads a list, and caches the newest one. A list that is
 * read again after a commit elsewhere, and has not changed, stays the same body,
 * compressed only once.
 */
function makeReadList(
  database: Database,
  maxSize: number,
  statement: Statement
) {
  // Before the first read: no fingerprint is an empty text.
  let cached: CachedList = { fingerprint: '', body: undefined }

  async function read(): Promise<CachedList> {
    const values = [cached.fingerprint, maxSize]
    const rows = await database.read<ListRow>(statement, values)
    const [{ fingerprint, size, body: text }] = rows as [ListRow]
    if (size === null) return cached

    const body = text === null ? undefined : new CachedBody(text)
    const isUnchanged = body?.etag === cached.body?.etag
    cached = { fingerprint, body: isUnchanged ? cached.body : body }
    return cached
  }

  return database.share<void, CachedList>(statement, read)
}
