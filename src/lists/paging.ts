import { isUtf8 } from 'node:buffer'
import { badRequest } from '../http/errors.ts'

// A cursor is the key of the last item of a page, in base64url. Unlike the
// number of a page, it does not shift when items are created meanwhile. It is
// opaque, so that it may change.

/** How the cursors of one type of keys hold a key. */
interface CursorFormat {
  /** Precedes each key. */
  lowest: string
  toBytes: (key: string) => Buffer
  /** The key; undefined for bytes that `toBytes` does not return. */
  fromBytes: (bytes: Buffer) => string | undefined
}

const bigintFormat: CursorFormat = {
  lowest: '-9223372036854775808',

  toBytes(key) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt(key))
    return bytes
  },

  fromBytes: (bytes) =>
    bytes.length === 8 ? String(bytes.readBigInt64BE()) : undefined
}

/** PostgreSQL reads a uuid without hyphens, too. */
const uuidFormat: CursorFormat = {
  lowest: '00000000000000000000000000000000',
  toBytes: (key) => Buffer.from(key.replaceAll('-', ''), 'hex'),
  fromBytes: (bytes) =>
    bytes.length === 16 ? bytes.toString('hex') : undefined
}

/** PostgreSQL has no NUL in text. */
const textFormat: CursorFormat = {
  lowest: '',
  toBytes: (key) => Buffer.from(key),
  fromBytes: (bytes) =>
    isUtf8(bytes) && !bytes.includes(0) ? bytes.toString() : undefined
}

const formats = {
  bigint: bigintFormat,
  uuid: uuidFormat,
  text: textFormat
}

/** The SQL type of the column that orders a paged list. */
export type KeyType = keyof typeof formats

/**
 * The key that precedes a page, as text that PostgreSQL reads. The first page
 * has no cursor. Its key is lower than the key of any row.
 *
 * @throws HttpError 400 for a cursor that is not from `cursorAfter`
 */
export function keyBefore(cursor: string | undefined, type: KeyType): string {
  const { lowest, fromBytes } = formats[type]
  if (cursor === undefined) return lowest

  const bytes = Buffer.from(cursor, 'base64url')
  const key = fromBytes(bytes)
  const isCursor = key !== undefined && bytes.toString('base64url') === cursor
  if (isCursor) return key
  throw badRequest(
    'query.cursor must be taken from the Link header of the previous page, or left out'
  )
}

/** The cursor of the page after a key. */
export function cursorAfter(key: string, type: KeyType): string {
  return formats[type].toBytes(key).toString('base64url')
}

/**
 * A Link to the page at a cursor (RFC 8288). It is relative, because a proxy
 * may hide the address of the service and change the path.
 *
 * @param query the other parameters; those that are undefined are left out
 */
export function nextPage(
  query: Record<string, string | number | undefined>,
  cursor: string
): string {
  const parameters = new URLSearchParams()

  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.append(name, String(value))

  parameters.append('cursor', cursor)
  return `<?${parameters.toString()}>; rel="next"`
}
