import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reply } from '../openapi/handler.ts'
import { readIfChanged } from '../postgres/changes.ts'
import type { Database } from '../postgres/database.ts'
import { represent } from './representation.ts'
import type { ResponseMemory } from './response-memory.ts'

/** Maximum number of items in a page, and bytes unless it is one item. */
const maxRows = 1000
const maxBytes = 2 ** 18

/** The items of a page as JSON, each preceded by a comma, or null if they are too long; and the cursor of the next page. */
type Row = { items: string | null; size: number; next: string | null }
type Page = { bytes: Buffer; next: string | null }

// PostgreSQL writes the JSON: a page is one value instead of thousands of objects.
const pageOf = (table: string, json: string) => `
  SELECT CASE WHEN $2 = 1 OR octet_length(items) <= ${maxBytes} THEN items END AS items, octet_length(items) AS size, next
  FROM (
    SELECT coalesce(string_agg(',' || ${json}, ''), '') AS items, CASE count(*) WHEN $2 THEN max(id)::text END AS next
    FROM (
      SELECT * FROM ${table} WHERE id > coalesce($1::bigint, -9223372036854775808) ORDER BY id LIMIT $2
    ) AS item
  ) AS page`

/**
 * The handler of an operation that lists all rows of a table, by their ids. Requests that wait at the same time share one
 * query, which checks whether the last list is still current. A request never joins a query that has started, so its response
 * has everything that was committed before the request arrived.
 *
 * @param table must have a bigint `id` and the trigger record_change
 * @param json an SQL expression for a row as a JSON object
 */
export function listHandler(
  database: Database,
  memory: ResponseMemory,
  table: string,
  json: string
) {
  const query = { name: `page-of-${table}`, text: pageOf(table, json) }
  let rows = maxRows

  /** Reads a page, again with fewer rows if it exceeds maxBytes. Adapts the rows, so that the next page has half of that. */
  async function readPage(after: string | null): Promise<Page> {
    const [row] = await database.read<Row>({ ...query, values: [after, rows] })
    const { items, size, next } = row as Row
    rows = Math.min(maxRows, Math.ceil((rows * maxBytes) / (2 * size)))
    if (items === null) return readPage(after)
    return {
      bytes: Buffer.from(
        `${after === null ? `[${items.slice(1)}` : items}${next === null ? ']' : ''}`
      ),
      next
    }
  }

  /** Reads the list, up to half of the memory limit, so that two versions fit. */
  async function readList() {
    const hash = createHash('sha256')
    const chunks: Buffer[] = []
    let size = 0
    let next: string | null = null
    do {
      const page: Page = await readPage(next)
      hash.update(page.bytes)
      chunks.push(page.bytes)
      size += page.bytes.length
      next = page.next
    } while (next !== null && size < memory.limit / 2)
    return { body: represent(chunks, size, hash.digest('base64url')), next }
  }

  const list = readIfChanged(database, table, readList)
  const shared = batch(async (requests: undefined[]) => {
    sharedReads.observe(requests.length)
    const current = await list()
    return requests.map(() => current)
  })

  /** Reads pages for streams, one at a time to leave connections to others. Streams at the same place share a page. */
  const sharedPage = batch(async (cursors: string[]) => {
    const pages = new Map<string, Page>()
    for (const cursor of new Set(cursors))
      pages.set(cursor, await readPage(cursor))
    return cursors.map((cursor) => pages.get(cursor) as Page)
  })

  /** Calls `taken` when the client has read a chunk, and lets other work run before the next one. */
  async function* stream(
    chunks: Buffer[],
    next: string | null,
    taken: () => void
  ) {
    for (const chunk of chunks) {
      yield chunk
      taken()
      await setImmediate()
    }
    while (next !== null) {
      const page: Page = await sharedPage(next)
      yield page.bytes
      taken()
      next = page.next
    }
  }

  return async (
    { method, headers }: FastifyRequest,
    reply: Reply<{ 200: object; 304: undefined }>
  ) => {
    const { body, next } = await shared(undefined)
    const isWhole = next === null
    // The client may keep the list, but must check before each use that it is unchanged (RFC 9111, section 5.2.2).
    reply.header('cache-control', 'private, no-cache')
    // Keeps the Origin of @fastify/cors.
    reply.header(
      'vary',
      ['Authorization, Accept-Encoding', reply.getHeader('vary') ?? []]
        .flat()
        .join(', ')
    )
    const matched = body.match(headers['if-none-match'])
    if (matched !== undefined)
      return (isWhole ? reply.header('etag', matched) : reply).code(304).send()
    const encoded = await body.encoded(
      isWhole ? headers['accept-encoding'] : undefined
    )
    const { coding, chunks, size, etag } = encoded
    const taken = memory.hold(reply.raw, encoded, isWhole ? 0 : 2 * maxBytes)
    reply.header('content-type', 'application/json; charset=utf-8')
    if (coding !== 'identity') reply.header('content-encoding', coding)
    if (isWhole) reply.header('etag', etag).header('content-length', size)
    if (isWhole && chunks.length === 1)
      return reply.code(200).send(chunks[0] as Buffer)
    const source = method === 'HEAD' ? [] : stream(chunks, next, taken)
    return reply
      .code(200)
      .send(Readable.from(source, { objectMode: false, highWaterMark: 1 }))
  }
}
