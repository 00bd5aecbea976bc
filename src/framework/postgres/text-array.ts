import pg from 'pg'

/** Bytes before the first element, and before each element. */
const headerSize = 20
const lengthSize = 4

/** The length that stands for NULL. */
const nullLength = -1

/**
 * Encodes values as a `text[]` in PostgreSQL's binary format.
 *
 * In the text format, which pg uses for an array, NULL is the word NULL without
 * quotes. A server with `array_nulls = off` takes it for text, and a setting of
 * the session would not last behind a pooler.
 *
 * @param values null, undefined, or what PostgreSQL can cast from text to the
 *   type of the column
 */
export function textArray(values: readonly unknown[]): Buffer {
  const texts = values.map(textOf)
  const bytes = Buffer.allocUnsafe(sizeOf(texts))

  writeHeader(bytes, texts.length)

  let offset = headerSize
  for (const text of texts) {
    const start = offset + lengthSize
    const length = text === null ? nullLength : bytes.write(text, start)
    bytes.writeInt32BE(length, offset)
    offset = start + Math.max(length, 0)
  }

  return bytes
}

/** The text of a value, as a cast from text reads it: objects are JSON. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return value.toString()
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`

  return JSON.stringify(value)
}

function sizeOf(texts: (string | null)[]): number {
  let size = headerSize
  for (const text of texts) size += lengthSize + Buffer.byteLength(text ?? '')
  return size
}

function writeHeader(bytes: Buffer, length: number): void {
  const dimensions = 1
  const mayHaveNulls = 1
  const lowerBound = 1
  const header = [
    dimensions,
    mayHaveNulls,
    pg.types.builtins.TEXT,
    length,
    lowerBound
  ]
  header.forEach((field, index) => bytes.writeInt32BE(field, index * 4))
}
