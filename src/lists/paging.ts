import { badRequest } from '../http/errors.ts'

// A cursor is the id of the last item of a page, as 8 bytes in base64url. Unlike
// the number of a page, it does not shift when items are created meanwhile. It is
// opaque, so that it may change.

/**
 * The id that precedes a page, as text; null for the first page.
 *
 * @throws HttpError 400 for a cursor that is not from `nextPage`
 */
export function idBefore(cursor: string | undefined): string | null {
  if (cursor === undefined) return null

  const bytes = Buffer.from(cursor, 'base64url')
  const isCursor = bytes.length === 8 && bytes.toString('base64url') === cursor
  if (isCursor) return String(bytes.readBigInt64BE())
  throw badRequest(
    'query.cursor must be taken from the Link header of the previous page, or left out'
  )
}

/**
 * A Link to the page after an id (RFC 8288). It is relative, because a proxy
 * may hide the address of the service and change the path.
 */
export function nextPage(query: Record<string, string>, id: bigint): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(id)
  const cursor = bytes.toString('base64url')
  const parameters = new URLSearchParams({ ...query, cursor })
  return `<?${parameters.toString()}>; rel="next"`
}
