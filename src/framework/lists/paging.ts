import { isUtf8 } from 'node:buffer'
import { badRequest } from '../http/errors.ts'

// A cursor is the order value of the last item of a page, in base64url. Unlike
// the number of a page, it does not shift when items are created meanwhile. It
// is opaque, so that it may change.

/** How a cursor holds an order value of one SQL type. */
interface CursorFormat {
  /** Precedes each order value. */
  lowest: string
  toBytes: (value: string) => Buffer
  /** The order value; undefined for bytes that `toBytes` does not return. */
  fromBytes: (bytes: Buffer) => string | undefined
}

const bigintFormat: CursorFormat = {
  lowest: '-9223372036854775808',

  toBytes(value) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt(value))
    return bytes
  },

  fromBytes: (bytes) =>
    bytes.length === 8 ? String(bytes.readBigInt64BE()) : undefined
}

/** PostgreSQL reads a uuid without hyphens, too. */
const uuidFormat: CursorFormat = {
  lowest: '00000000000000000000000000000000',
  toBytes: (value) => Buffer.from(value.replaceAll('-', ''), 'hex'),
  fromBytes: (bytes) =>
    bytes.length === 16 ? bytes.toString('hex') : undefined
}

/** PostgreSQL allows no NUL in text. */
const textFormat: CursorFormat = {
  lowest: '',
  toBytes: (value) => Buffer.from(value),
  fromBytes: (bytes) =>
    isUtf8(bytes) && !bytes.includes(0) ? bytes.toString() : undefined
}

const formats = {
  bigint: bigintFormat,
  uuid: uuidFormat,
  text: textFormat
}

/** The SQL type of the column that orders a paged list. */
export type OrderType = keyof typeof formats

/**
 * The order value that precedes a page, as text that PostgreSQL reads. The
 * first page has no cursor: the lowest value of the type precedes it.
 *
 * @throws HttpError 400 for a cursor that is not from `cursorAfter`
 */
export function orderValueBefore(
  cursor: string | undefined,
  type: OrderType
): string {
  const { lowest, fromBytes } = formats[type]
  if (cursor === undefined) return lowest

  const bytes = Buffer.from(cursor, 'base64url')
  const value = fromBytes(bytes)
  const isCursor = value !== undefined && bytes.toString('base64url') === cursor
  if (isCursor) return value
  throw badRequest(
    'query.cursor must be taken from the Link header of the previous page, or left out'
  )
}

/** The cursor of the page after an order value. */
export function cursorAfter(orderValue: string, type: OrderType): string {
  return formats[type].toBytes(orderValue).toString('base64url')
}

/** The query parameters of a list. A Link cannot repeat an array. */
export type PageQuery = Record<
  string,
  string | number | bigint | boolean | undefined
>

/**
 * A Link to the page at a cursor (RFC 8288). It is relative, because a proxy
 * may hide the address of the service and change the path.
 *
 * @param query the parameters of the request; those that are undefined are left
 *   out, and its cursor is replaced
 */
export function linkToNextPage(query: PageQuery, cursor: string): string {
  const parameters = new URLSearchParams()

  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.append(name, String(value))

  parameters.delete('cursor')
  parameters.append('cursor', cursor)

  return `<?${parameters.toString()}>; rel="next"`
}
