import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import type { JsonBytes, JsonStream, RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { ChangeCheck } from './change-check.ts'
import { CodedBody, isAnyTag } from './encodings.ts'
import type { ResponseMemory } from './response-memory.ts'
import { chunksOf, PageStream } from './stream.ts'
import { maxPageSize, TableReader } from './table-reader.ts'

const jsonType = 'application/json; charset=utf-8'

/** The reply of an operation that lists items. */
type ListReply<Item> = CacheableReply & Ok<Item> & NotModified
type CacheableReply = Pick<Reply<unknown>, 'getHeader' | 'header' | 'raw'>

// `code` is a property in both, because the compiler compares the parameters
// of methods, and overloads, loosely: it would accept items of another schema.
interface Ok<Item> {
  code: (status: 200) => { send: (body: ListBody<Item>) => Sent }
}
interface NotModified {
  code: (status: 304) => { send: () => Sent }
}
type ListBody<Item> = Item[] | JsonBytes<Item[]> | JsonStream<Item[]>

interface WholeList {
  body: CodedBody
  next: null
}

/** The start of a list that is too long to be held. */
interface ListStart {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The id of the last item in `chunks`. */
  next: string
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
  list: { table: string; row: RowJson<Item> }
) {
  const cached = new CachedList<Item>(database, memory, list)
  return (request: FastifyRequest, reply: ListReply<Item>): Promise<Sent> =>
    cached.respond(request, reply)
}

/**
 * A list that stays fresh and fast. Requests that wait at the same time share
 * one query, which checks whether the table has changed since it was read. A
 * request never joins a query that has started, so its response has everything
 * that was committed before the request arrived.
 */
class CachedList<Item> {
  readonly #memory: ResponseMemory
  readonly #reader: TableReader
  readonly #changes: ChangeCheck
  readonly #rest: PageStream
  readonly #current: (request: FastifyRequest) => Promise<WholeList | ListStart>
  #list: WholeList | ListStart | undefined

  constructor(
    database: Pick<Database, 'read'>,
    memory: ResponseMemory,
    { table, row }: { table: string; row: RowJson<Item> }
  ) {
    this.#memory = memory
    this.#reader = new TableReader(database, table, row)
    this.#changes = new ChangeCheck(database, table)
    this.#rest = new PageStream(this.#reader)
    this.#current = batch(async (requests: FastifyRequest[]) => {
      sharedReads.observe(requests.length)
      const list = await this.#readIfChanged()
      return requests.map(() => list)
    })
  }

  async respond(
    request: FastifyRequest,
    reply: ListReply<Item>
  ): Promise<Sent> {
    const list = await this.#current(request)
    setCacheHeaders(reply)

    if (list.next === null) return this.#sendWhole(list, request, reply)
    return this.#sendStream(list, request, reply)
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

  /** Reads up to half of the memory limit, so that two versions fit. */
  async #read(): Promise<WholeList | ListStart> {
    const chunks: Buffer[] = []
    let size = 0
    let next: string | null = null
    do {
      const page = await this.#reader.readPage(next)
      chunks.push(page.bytes)
      size += page.bytes.length
      next = page.next
    } while (next !== null && size < this.#memory.limit / 2)

    if (next === null) return { body: new CodedBody(chunks), next }
    return { chunks, size, next }
  }

  async #sendWhole(
    { body }: WholeList,
    { method, headers }: FastifyRequest,
    reply: ListReply<Item>
  ): Promise<Sent> {
    const matchingTag = body.matchingTag(headers['if-none-match'])
    if (matchingTag !== undefined) {
      reply.header('etag', matchingTag)
      return reply.code(304).send()
    }

    const encoded = await body.encodedFor(headers['accept-encoding'])
    const { coding, chunks, size, etag } = encoded
    const onRead = this.#memory.reserveShared(reply.raw, encoded)

    reply.header('content-type', jsonType)
    reply.header('content-length', size).header('etag', etag)
    if (coding !== 'identity') reply.header('content-encoding', coding)
    const [first] = chunks
    if (first !== undefined && chunks.length === 1)
      return reply.code(200).send(listBytes<Item>(first))

    const source = method === 'HEAD' ? [] : chunksOf(chunks, onRead)
    return reply.code(200).send(listStream<Item>(source))
  }

  /** Without an ETag and compression, which need the whole list. */
  #sendStream(
    start: ListStart,
    { method, headers }: FastifyRequest,
    reply: ListReply<Item>
  ): Sent {
    if (isAnyTag(headers['if-none-match'])) return reply.code(304).send()

    // A page that is being sent, and one that is being read.
    const ownSize = 2 * maxPageSize
    const onRead = this.#memory.reserveShared(reply.raw, start, ownSize)

    reply.header('content-type', jsonType)
    const source = method === 'HEAD' ? [] : this.#stream(start, onRead)
    return reply.code(200).send(listStream<Item>(source))
  }

  async *#stream({ chunks, next }: ListStart, onRead: () => void) {
    yield* chunksOf(chunks, onRead)
    yield* this.#rest.after(next, onRead)
  }
}

function setCacheHeaders(reply: CacheableReply): void {
  // The client may keep the list, but must check before each use that it is
  // unchanged (RFC 9111, section 5.2.2).
  reply.header('cache-control', 'private, no-cache')

  // Keeps the Origin of @fastify/cors.
  const vary = ['Authorization, Accept-Encoding', reply.getHeader('vary') ?? []]
  reply.header('vary', vary.flat().join(', '))
}

// TableReader has written the items as a JSON array: the only place where the
// compiler has to believe that.
const listBytes = <Item>(bytes: Buffer) => bytes as JsonBytes<Item[]>
const listStream = <Item>(chunks: Iterable<Buffer> | AsyncIterable<Buffer>) =>
  Readable.from(chunks, {
    objectMode: false,
    highWaterMark: 1
  }) as JsonStream<Item[]>
