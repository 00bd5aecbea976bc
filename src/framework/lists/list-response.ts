import type { FastifyRequest } from 'fastify'
import { addVary, type CachedBody, isAnyTag } from '../http/encodings.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import {
  arrayBytes,
  arrayStream,
  type JsonBytes,
  type JsonStream,
  type RowJson
} from '../openapi/json.ts'
import { sendJson } from '../openapi/send-json.ts'
import type { ResponseMemory } from './response-memory.ts'
import { chunksOf, type ListStart, type ListStreams } from './stream.ts'
import { maxPieceSize } from './table-reader.ts'

/**
 * Bytes of a stream: a piece that is being sent, and one that is being read.
 */
const streamedSize = 2 * maxPieceSize

/** What all responses of a list share. */
export interface ListContext<Item> {
  json: RowJson<Item>
  memory: ResponseMemory
}

/** A request for a list. */
export type ListRequest = Pick<FastifyRequest, 'method' | 'headers'>

/** The reply of an operation that lists items. */
export type ListReply<Item> = CacheableReply & Ok<Item> & NotModified
type CacheableReply = Pick<Reply<unknown>, 'getHeader' | 'header' | 'raw'>

// `code` is a property in both, because the compiler compares the parameters of
// methods, and overloads, loosely: it would accept items of another schema.
interface Ok<Item> {
  code: (status: 200) => { send: (body: ListBody<Item>) => Sent }
}
interface NotModified {
  code: (status: 304) => { send: () => Sent }
}
type ListBody<Item> = Item[] | JsonBytes<Item[]> | JsonStream<Item[]>

export function setCacheHeaders(reply: CacheableReply): void {
  // The client may keep the list, but must check before each use that it is
  // unchanged (RFC 9111, section 5.2.2).
  reply.header('cache-control', 'private, no-cache')
  addVary(reply, 'Authorization, Accept-Encoding')
}

/**
 * Sends a list that is in memory, in the coding that the client prefers.
 *
 * @throws Overloaded if too much memory is reserved
 */
export async function sendWhole<Item>(
  body: CachedBody,
  { method, headers }: ListRequest,
  reply: ListReply<Item>,
  { json, memory }: ListContext<Item>
): Promise<Sent> {
  const matchingTag = body.matchingTag(headers['if-none-match'])
  if (matchingTag !== undefined) {
    reply.header('etag', matchingTag)
    return reply.code(304).send()
  }

  const encoded = await body.encodedFor(headers['accept-encoding'])
  const { coding, chunks, size, etag } = encoded
  const timer = memory.reserveShared(reply.raw, encoded)

  reply.header('content-length', size).header('etag', etag)
  if (coding !== 'identity') reply.header('content-encoding', coding)
  const [first] = chunks
  if (first !== undefined && chunks.length === 1)
    return sendJson<200, Item[]>(reply, 200, arrayBytes(json, first))

  const source = method === 'HEAD' ? [] : chunksOf(chunks, timer)

  return sendJson<200, Item[]>(reply, 200, arrayStream(json, source))
}

/**
 * Sends the start of a list, and meanwhile reads the rest. There is no ETag and
 * no compression, because they need the whole list.
 *
 * @throws Overloaded if too much memory is reserved
 */
export function sendStream<Item>(
  start: ListStart,
  streams: ListStreams,
  { method, headers }: ListRequest,
  reply: ListReply<Item>,
  { json, memory }: ListContext<Item>
): Sent {
  if (isAnyTag(headers['if-none-match'])) return reply.code(304).send()
  const timer = memory.reserveShared(reply.raw, start, streamedSize)
  const source = method === 'HEAD' ? [] : streams.continue(start, timer)
  return sendJson<200, Item[]>(reply, 200, arrayStream(json, source))
}
