import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reply } from '../openapi/handler.ts'
import { represent } from './representation.ts'
import type { ResponseMemory } from './response-memory.ts'

/** A page of a list: its items as JSON, separated by commas, and the cursor of the next page; null where there are none. */
export interface Page {
  items: string | null
  next: string | null
}

/** Maximum number of items of a page. */
const pageRows = 1_000
/** Text up to which a list is held, and sent, as a whole. A longer list is streamed from there on. */
const wholeSize = 2 ** 21
/** Bytes that are sent at once, and text up to which a stream holds a page. */
const chunkSize = 2 ** 18

/**
 * The handler of an operation that lists all items. Requests that wait at the same time share one read. A request never
 * joins a read that has started, so its response has everything that was committed before the request came.
 *
 * @param readPage reads at most `rows` items after the cursor, or the first items if it is null
 */
export function listHandler<Item>(
  readPage: (after: string | null, rows: number) => Promise<Page>,
  memory: ResponseMemory
) {
  /** The last read. Requests never share it without a new read, but an unchanged list is encoded once. */
  let latest: (Page & { body: ReturnType<typeof represent> }) | undefined
  let streamRows = pageRows

  const readList = batch(
    async (requests: undefined[]) => {
      sharedReads.observe(requests.length)
      const pages: string[] = []
      let size = 0
      let next: string | null = null
      do {
        const page: Page = await readPage(next, pageRows)
        if (page.items !== null) pages.push(page.items)
        size += page.items?.length ?? 0
        next = page.next
      } while (next !== null && size < wholeSize)
      const items = pages.join()
      const isSame = latest?.items === items && latest.next === next
      const list =
        isSame && latest
          ? latest
          : { items, next, body: represent(Buffer.from(`[${items}${next === null ? ']' : ''}`)) }
      latest = list
      return requests.map(() => list)
    },
    { maxWaiting: 10_000 }
  )

  /** Reads the pages of streams one at a time, so that they leave connections to others. Streams at one place share a page. */
  const readOn = batch(
    async (cursors: string[]) => {
      const pages = new Map<string, Page>()
      for (const cursor of new Set(cursors)) pages.set(cursor, await readSmall(cursor))
      return cursors.map((cursor) => pages.get(cursor) as Page)
    },
    { maxWaiting: 10_000 }
  )

  /** Reads a page again with fewer rows if a stream must not hold it while its client reads. */
  async function readSmall(after: string): Promise<Page> {
    for (;;) {
      const rows = streamRows
      const page = await readPage(after, rows)
      const size = page.items?.length ?? 0
      streamRows = Math.min(pageRows, Math.max(1, Math.floor((rows * chunkSize) / (2 * size + 1))))
      if (size <= chunkSize || rows === 1) return page
    }
  }

  async function* chunks(bytes: Buffer, after: string | null): AsyncGenerator<Buffer> {
    for (let start = 0; start < bytes.length; start += chunkSize) yield bytes.subarray(start, start + chunkSize)
    if (after === null) return
    for (let next: string | null = after; next !== null;) {
      const page: Page = await readOn(next)
      if (page.items !== null) yield Buffer.from(`,${page.items}`)
      next = page.next
    }
    yield Buffer.from(']')
  }

  return async (
    { method, headers }: { method: string; headers: IncomingHttpHeaders },
    reply: Reply<{ 200: Item[]; 304: undefined }>
  ) => {
    const { body, next } = await readList(undefined)
    // The client may keep the list, but must ask before each use whether it has changed (RFC 9111, section 5.2.2).
    reply.header('cache-control', 'private, no-cache')
    reply.header('vary', ['Authorization, Accept-Encoding', reply.getHeader('vary') ?? []].flat().join(', '))
    const isWhole = next === null
    const matched = body.match(headers['if-none-match'])
    if (isWhole && matched !== undefined) reply.header('etag', matched)
    if (matched !== undefined) return reply.code(304).send()
    const { coding, bytes, etag } = await body.encoded(isWhole ? headers['accept-encoding'] : undefined)
    const taken = memory.hold(reply.raw, bytes, isWhole ? 0 : 2 * chunkSize)
    reply.header('content-type', 'application/json; charset=utf-8')
    if (coding !== 'identity') reply.header('content-encoding', coding)
    if (isWhole) reply.header('etag', etag).header('content-length', bytes.length)
    if (isWhole && bytes.length <= chunkSize) return reply.code(200).send(bytes)
    return reply.code(200).send(paced(chunks(bytes, method === 'HEAD' ? null : next), taken))
  }
}

/** A stream of the chunks. Calls `taken` when the client has taken one, and lets other work run before the next. */
function paced(chunks: AsyncIterable<Buffer>, taken: () => void): Readable {
  async function* source() {
    for await (const chunk of chunks) {
      yield chunk
      taken()
      await setImmediate()
    }
  }
  return Readable.from(source(), { objectMode: false, highWaterMark: 1 })
}
