import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { parse } from 'lossless-json'
import { badRequest } from './errors.ts'

/** Parses request bodies as JSON (RFC 8259) in UTF-8, and rejects those of every other Content-Type. */
export const jsonBody = fp((app) => {
  app.removeAllContentTypeParsers()
  // Registered for every type, so that the size is checked before the type.
  app.addContentTypeParser(
    ['application/json', '*'],
    { parseAs: 'buffer' },
    ({ headers, mediaType = 'left out' }: FastifyRequest, bytes: Buffer, done) => {
      const { 'content-encoding': encoding, 'transfer-encoding': transfer = 'chunked' } = headers
      if (encoding !== undefined) throw badRequest('Content-Encoding must be left out')
      if (transfer.toLowerCase() !== 'chunked') throw badRequest('Transfer-Encoding must be chunked or be left out')
      // A charset has no effect (RFC 8259, section 11).
      if (mediaType !== 'application/json') {
        throw badRequest(`Content-Type must be application/json, not ${mediaType}`)
      }
      done(null, bytes.length === 0 ? undefined : parseJson(bytes))
    }
  )
})

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Levels of arrays and objects. Parsers and validators are recursive. */
const maxDepth = 64
const tooDeep = () => badRequest(`The body must not be nested deeper than ${maxDepth} levels`)

/**
 * Returns the value of a JSON text. An integer beyond 2^53 is a bigint.
 *
 * @throws HttpError 400 for bytes that are not UTF-8 or not JSON, a property given twice with different values,
 *   nesting beyond `maxDepth`, and strings with unpaired surrogates
 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    const value = parse(utf8.decode(bytes), null, { parseNumber })
    check(value, 0)
    return value
  } catch (error) {
    if (error instanceof SyntaxError) throw badRequest(`The body must be JSON: ${error.message}`)
    if (error instanceof TypeError) throw badRequest('The body must be UTF-8')
    // Thousands of levels exhaust the stack of the parser.
    throw error instanceof RangeError ? tooDeep() : error
  }
}

/** Parses a decimal number, to a bigint if it is an integer that a number would round. */
export function parseNumber(text: string): number | bigint {
  const number = Number(text)
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
}

function check(value: unknown, depth: number): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw badRequest('The body must not have unpaired surrogates')
  if (typeof value !== 'object' || value === null) return
  if (depth === maxDepth) throw tooDeep()
  for (const member of Object.entries(value).flat()) check(member, depth + 1)
}
