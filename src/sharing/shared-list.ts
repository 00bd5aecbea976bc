import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reply } from '../openapi/handler.ts'
import { represent } from './representation.ts'
import type { ResponseMemory } from './response-memory.ts'

/** A page of a list, as a resource reads it. */
export interface Page {
  /** The items as JSON, each preceded by a comma; null if there is more than one and they exceed the limit in bytes. */
  items: string | null
  /** The cursor of the next page; null at the end of the list. */
  next: string | null
}

/** The maximum size of a page. */
export interface PageLimit {
  rows: number
  bytes: number
}

type ShortPage = Page & { items: string }
type StreamedPage = { bytes: Buffer; next: string | null }

/** Number of items in the first page that is read, and in any. */
const firstRows = 1_000
const maxRows = 20_000
/** Length of text from which a list is streamed. A shorter one is held and sent as a whole. */
const wholeSize = 2 ** 21
/** Bytes that are sent at once, and that a page of a stream may have. */
const chunkSize = 2 ** 18
const maxWaiting = 10_000

/**
 * The handler of an operation that lists all items. Requests that wait at the same time share one read. A request never
 * joins a read that has started, so its response has everything that was committed before the request came.
 *
 * @param readPage reads a page after the cursor, or the first one if it is null
 */
export function listHandler<Item>(
  readPage: (after: string | null, limit: PageLimit) => Promise<Page>,
  memory: ResponseMemory
) {
  /** The last read. No request gets it without a new read, but an unchanged list is hashed and compressed once. */
  let latest: (ShortPage & { body: ReturnType<typeof represent> }) | undefined
  const wholeLimit = { rows: firstRows, bytes: wholeSize }
  const streamLimit = { rows: firstRows, bytes: chunkSize }

  /**
   * Adapts the rows to their size, so that pages have half of the bytes. Reads a page again that exceeds them, and tries
   * fewer rows after a failure, which may be that of a page too large to be read in time.
   */
  async function readWithin(limit: PageLimit, after: string | null): Promise<ShortPage> {
    const { items, next } = await readPage(after, limit).catch((error: unknown) => {
      limit.rows = Math.ceil(limit.rows / 8)
      throw error
    })
    const size = items === null ? limit.bytes : Buffer.byteLength(items)
    if (items === null || next !== null) {
      limit.rows = Math.min(maxRows, Math.ceil((limit.rows * limit.bytes) / (2 * size)))
    }
    return items === null ? readWithin(limit, after) : { items, next }
  }

  const readList = batch(
    async (requests: undefined[]) => {
      sharedReads.observe(requests.length)
      let items = ''
      let next: string | null = null
      do {
        const page: ShortPage = await readWithin(wholeLimit, next)
        items += page.items
        next = page.next
      } while (next !== null && items.length < wholeSize)
      if (latest?.items !== items || latest.next !== next) {
        latest = { items, next, body: represent(Buffer.from(`[${items.slice(1)}${endBefore(next)}`)) }
      }
      return Array<typeof latest>(requests.length).fill(latest)
    },
    { maxWaiting }
  )

  /** Reads for streams, one page at a time to leave connections to others. Streams at the same place share a page. */
  const readNext = batch(
    async (cursors: string[]) => {
      const pages = new Map<string, StreamedPage>()
      for (const cursor of new Set(cursors)) {
        const { items, next } = await readWithin(streamLimit, cursor)
        pages.set(cursor, { bytes: Buffer.from(items + endBefore(next)), next })
      }
      return cursors.map((cursor) => pages.get(cursor))
    },
    { maxWaiting }
  )

  /** Calls `taken` when the client has taken a chunk, and lets other work run before the next one. */
  async function* chunks(page: StreamedPage | undefined, taken: () => void) {
    while (page !== undefined) {
      const { bytes, next }: StreamedPage = page
      for (let at = 0; at < bytes.length; at += chunkSize) {
        yield bytes.subarray(at, at + chunkSize)
        taken()
        await setImmediate()
      }
      page = next === null ? undefined : await readNext(next)
    }
  }

  return async (
    { method, headers }: { method: string; headers: IncomingHttpHeaders },
    reply: Reply<{ 200: Item[]; 304: undefined }>
  ) => {
    const { body, next } = await readList(undefined)
    const isWhole = next === null
    // The client may keep the list, but must check before each use that it is unchanged (RFC 9111, section 5.2.2).
    reply.header('cache-control', 'private, no-cache')
    // Keeps the Origin of @fastify/cors.
    reply.header('vary', ['Authorization, Accept-Encoding', reply.getHeader('vary') ?? []].flat().join(', '))
    const matched = body.match(headers['if-none-match'])
    if (matched !== undefined) return (isWhole ? reply.header('etag', matched) : reply).code(304).send()
    const { coding, bytes, etag } = await body.encoded(isWhole ? headers['accept-encoding'] : undefined)
    const taken = memory.hold(reply.raw, bytes, isWhole ? 0 : 2 * chunkSize)
    reply.header('content-type', 'application/json; charset=utf-8')
    if (coding !== 'identity') reply.header('content-encoding', coding)
    if (isWhole) reply.header('etag', etag).header('content-length', bytes.length)
    if (isWhole && bytes.length <= chunkSize) return reply.code(200).send(bytes)
    const source = chunks({ bytes, next: method === 'HEAD' ? null : next }, taken)
    return reply.code(200).send(Readable.from(source, { objectMode: false, highWaterMark: 1 }))
  }
}

/** What ends a JSON array, unless a page follows. */
const endBefore = (next: string | null) => (next === null ? ']' : '')
