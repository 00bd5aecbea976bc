import type { FastifyRequest } from 'fastify'
import type { Sent } from '../openapi/handler.ts'
import type { RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { CachedList } from './cached-list.ts'
import { ChangeCheck } from './change-check.ts'
import {
  type ListReply,
  sendStream,
  sendWhole,
  setCacheHeaders
} from './list-response.ts'
import type { ResponseMemory } from './response-memory.ts'
import { PageStream } from './stream.ts'
import { TableReader } from './table-reader.ts'

/**
 * The handler of an operation that lists all rows of a table, by their ids.
 *
 * @param list.table must have a bigint `id`, and be watched by
 *   `CALL record_changes_of('table')` in its migration
 * @param list.row writes a row as the JSON of an item
 */
export function listOperation<Item extends { id: bigint }>(
  database: Pick<Database, 'read'>,
  memory: ResponseMemory,
  { table, row }: { table: string; row: RowJson<Item> }
) {
  const reader = new TableReader(database, table, row.expression)
  const changes = new ChangeCheck(database, table)
  // Half of the limit, so that two versions of a list fit.
  const cached = new CachedList(reader, changes, memory.limit / 2)
  const pages = new PageStream(reader)
  const context = { row, memory }

  return async (
    request: FastifyRequest,
    reply: ListReply<Item>
  ): Promise<Sent> => {
    const list = await cached.current()
    setCacheHeaders(reply)

    if (list.lastId === null)
      return sendWhole(list.body, request, reply, context)
    return sendStream(list, pages, request, reply, context)
  }
}
