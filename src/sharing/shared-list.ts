import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import type { ResponseMemory } from './response-memory.ts'
import { sharePieces } from './pieces.ts'
import { represent, type Representation } from './representation.ts'

/** Where the items of a list come from, in one order. */
export interface ListSource<Item, Cursor> {
  /** The items after the cursor, or the first ones, within the limit: one at least, unless there are no more. */
  page(this: void, after: Cursor | undefined, limit: PageLimit): Promise<Item[]>
  /** The cursor after which the rest of the list begins. */
  cursor(this: void, item: Item): Cursor
}

export interface PageLimit {
  rows: number
  /** Bytes of text, beyond which no item begins. */
  bytes?: number
}

/** A list within this limit is answered whole; a longer one is streamed, and begins with this much. */
const wholeLimit = { rows: 20_000, bytes: 2 ** 21 }
/** How much longer than the last time a list may be for its text not to be measured, which costs a fifth of reading it. */
const growth = 200
/** What is read, and sent, at once of a list that is streamed. */
const pieceLimit = { rows: 1_000, bytes: 2 ** 16 }
/** Bytes of a whole list that are sent at once: a client must read so many within ANSWER_TIMEOUT. */
const chunkSize = 2 ** 18
/** What a stream is taken to hold beside its beginning: the piece that is being sent, and the one after it. */
const streamSize = 2 ** 18
/** Items that are serialised before other work has its turn. */
const sliceSize = 1_000

/** Some items in a row, as JSON without brackets; nothing follows when `next` is undefined. */
interface Part<Cursor> {
  /** How many items. */
  length: number
  text: string
  next: Cursor | undefined
}

/** The beginning of a list that is streamed, as JSON. */
interface Beginning<Cursor> {
  bytes: Buffer
  next: Cursor
}

type ListReply<Item> = Reply<{ 200: Item[]; 304: undefined }>

/**
 * The handler of an operation that lists all items. Requests that wait at the same time are answered from one query and
 * one serialisation. None joins a query that was sent before it came, so nobody misses what was there when they asked.
 */
export function listHandler<Item, Cursor>({ page, cursor }: ListSource<Item, Cursor>, memory: ResponseMemory) {
  /** The serializer that Fastify made of the document. */
  let serialize: ((items: Item[]) => string) | undefined
  /** What was read last: no request gets it unread, but what is the same is made into bytes once, and compressed once. */
  let latest: { text: string; next: Cursor | undefined; list: Representation | Beginning<Cursor> } | undefined
  /** Of a list that was answered whole the last time. */
  let expectedLength: number | undefined = 0

  async function readPart(after: Cursor | undefined, limit: PageLimit): Promise<Part<Cursor>> {
    const items = await page(after, limit)
    const slices: string[] = []
    for (let start = 0; start < items.length; start += sliceSize) {
      if (start > 0) await setImmediate()
      const json = (serialize as (items: Item[]) => string)(items.slice(start, start + sliceSize))
      slices.push(json.slice(1, -1))
    }
    const text = slices.join()
    // A page that was cut at its bytes has as many in JSON too, which is never shorter than the text in it.
    const isCut = items.length >= limit.rows || Buffer.byteLength(text) >= (limit.bytes ?? Infinity)
    return { length: items.length, text, next: isCut ? cursor(items.at(-1) as Item) : undefined }
  }

  /** As much as is answered whole. It is measured when it is not known to be about as long as the last time. */
  async function readBeginning(): Promise<Part<Cursor>> {
    let part: Part<Cursor> | undefined
    if (expectedLength !== undefined) {
      part = await readPart(undefined, { rows: Math.min(expectedLength + growth, wholeLimit.rows) })
    }
    if (part === undefined || part.next !== undefined) part = await readPart(undefined, wholeLimit)
    expectedLength = part.next === undefined && part.text.length < wholeLimit.bytes ? part.length : undefined
    return part
  }

  const pieces = sharePieces(async (after: Cursor) => {
    const { text, next } = await readPart(after, pieceLimit)
    return { bytes: Buffer.from(text === '' ? '' : `,${text}`), next }
  })

  const readList = batch(
    async (requests: undefined[]) => {
      sharedReads.observe(requests.length)
      const askedAt = pieces.now()
      const { text, next } = await readBeginning()
      if (latest === undefined || latest.text !== text || latest.next !== next) {
        latest = {
          text,
          next,
          list: next === undefined ? represent(Buffer.from(`[${text}]`)) : { bytes: Buffer.from(`[${text}`), next }
        }
      }
      const { list } = latest
      return requests.map(() => ({ list, askedAt }))
    },
    { maxWaiting: 10_000 }
  )

  /** Lets other work have its turn after each chunk: many streams that begin at once would hold it up. */
  async function* stream({ bytes, next }: Beginning<Cursor>, askedAt: number): AsyncGenerator<Buffer> {
    for (const chunk of chunks(bytes, pieceLimit.bytes)) {
      yield chunk
      await setImmediate()
    }
    for (let after: Cursor | undefined = next; after !== undefined;) {
      const piece: { bytes: Buffer; next: Cursor | undefined } = await pieces.read(after, askedAt)
      yield piece.bytes
      await setImmediate()
      after = piece.next
    }
    yield Buffer.from(']')
  }

  return async (
    { method, headers }: { method: string; headers: IncomingHttpHeaders },
    reply: ListReply<Item>
  ): Promise<Sent> => {
    serialize ??= reply.code(200).getSerializationFunction('200', 'application/json')
    const { list, askedAt } = await readList(undefined)
    const ifNoneMatch = headers['if-none-match']
    if ('next' in list) {
      if (ifNoneMatch?.trim() === '*') return notModified(reply).send()
      const taken = memory.hold(reply.raw, list.bytes, { length: streamSize })
      return ok(reply, readable(method === 'HEAD' ? [] : stream(list, askedAt), taken))
    }
    const matched = ifNoneMatch === undefined ? undefined : list.match(ifNoneMatch)
    if (matched !== undefined) return notModified(reply).header('etag', matched).send()
    const { coding, bytes, etag } = await list.encoded(headers['accept-encoding'])
    const taken = memory.hold(reply.raw, bytes)
    if (coding !== 'identity') reply.header('content-encoding', coding)
    reply.header('etag', etag)
    if (bytes.length <= chunkSize) return ok(reply, bytes)
    return ok(reply.header('content-length', bytes.length), readable(chunks(bytes, chunkSize), taken))
  }
}

function* chunks(bytes: Buffer, size: number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

/** A stream of the chunks that calls `taken` when its reader asks for the next one. */
function readable(source: Iterable<Buffer> | AsyncIterable<Buffer>, taken: () => void): Readable {
  const counted = async function* () {
    for await (const chunk of source) {
      yield chunk
      taken()
    }
  }
  return Readable.from(counted(), { objectMode: false, highWaterMark: 1 })
}

const ok = <Item>(reply: ListReply<Item>, body: Buffer | Readable) =>
  setCacheHeaders(reply).header('content-type', 'application/json; charset=utf-8').code(200).send(body)

const notModified = <Item>(reply: ListReply<Item>) => setCacheHeaders(reply).code(304)

/** The client may keep the list for itself, and asks before each use whether it is still the same (RFC 9111, section 5.2.2). */
function setCacheHeaders<Item>(reply: ListReply<Item>): ListReply<Item> {
  // CORS adds to it where it is on.
  const vary = reply.getHeader('vary')
  const ours = 'Authorization, Accept-Encoding'
  return reply
    .header('cache-control', 'private, no-cache')
    .header('vary', vary === undefined ? ours : `${ours}, ${String(vary)}`)
}
