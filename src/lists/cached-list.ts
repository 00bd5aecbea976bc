import type { FastifyRequest } from 'fastify'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Sent } from '../openapi/handler.ts'
import type { RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { ChangeCheck } from './change-check.ts'
import { CodedBody } from './encodings.ts'
import {
  type ListReply,
  sendStream,
  sendWhole,
  setCacheHeaders
} from './list-response.ts'
import type { ResponseMemory } from './response-memory.ts'
import { type ListStart, PageStream } from './stream.ts'
import { TableReader } from './table-reader.ts'

interface WholeList {
  body: CodedBody
  lastId: null
}

/**
 * The handler of an operation that lists all rows of a table, by their ids.
 *
 * @param list.table must have a bigint `id`, and be watched by
 *   `CALL record_changes_of('table')` in its migration
 * @param list.row writes a row as the JSON of an item
 */
export function cachedList<Item>(
  database: Pick<Database, 'read'>,
  memory: ResponseMemory,
  { table, row }: { table: string; row: RowJson<Item> }
) {
  const reader = new TableReader(database, table, row)
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

/**
 * A list that stays fresh and fast. Requests that wait at the same time share
 * one query, which checks whether the table has changed since it was read. A
 * request never joins a query that has started, so its response has everything
 * that was committed before the request arrived.
 */
class CachedList {
  readonly #reader: TableReader
  readonly #changes: ChangeCheck
  readonly #maxSize: number
  readonly #shared: (_request: undefined) => Promise<WholeList | ListStart>
  #list: WholeList | ListStart | undefined

  /** @param maxSize bytes; of a longer list only the start is kept */
  constructor(reader: TableReader, changes: ChangeCheck, maxSize: number) {
    this.#reader = reader
    this.#changes = changes
    this.#maxSize = maxSize
    this.#shared = batch(async (requests: undefined[]) => {
      sharedReads.observe(requests.length)
      const list = await this.#readIfChanged()
      return requests.map(() => list)
    })
  }

  /** The list as it is now, or its start if it is too long to be kept. */
  current(): Promise<WholeList | ListStart> {
    return this.#shared(undefined)
  }

  async #readIfChanged(): Promise<WholeList | ListStart> {
    const hasChanged = await this.#changes.hasChanged()
    if (this.#list !== undefined && !hasChanged) return this.#list

    // Frees the memory of the old list before reading the new one.
    this.#list = undefined
    const list = await this.#read()
    this.#list = list
    return list
  }

  async #read(): Promise<WholeList | ListStart> {
    const chunks: Buffer[] = []
    let size = 0
    let lastId: string | null = null
    do {
      const page = await this.#reader.readPage(lastId)
      chunks.push(page.bytes)
      size += page.bytes.length
      lastId = page.lastId
    } while (lastId !== null && size < this.#maxSize)

    if (lastId === null) return { body: new CodedBody(chunks), lastId }
    return { chunks, size, lastId }
  }
}
