import fp from 'fastify-plugin'
import { parse } from 'lossless-json'
import { badRequest } from './errors.ts'

/**
 * Parses request bodies as JSON (RFC 8259) in UTF-8, and rejects bodies of
 * every other Content-Type.
 */
export const jsonBody = fp(
  (app) => {
    app.removeAllContentTypeParsers()
    // For every type, so that the size is checked before the type.
    const types = ['application/json', '*']
    app.addContentTypeParser<Buffer>(
      types,
      { parseAs: 'buffer' },
      ({ mediaType = 'left out' }, bytes, done) => {
        if (mediaType !== 'application/json') {
          const message = `Content-Type must be application/json, not ${mediaType}`
          throw badRequest(message)
        }
        done(null, bytes.length === 0 ? undefined : parseJson(bytes))
      }
    )
  },
  { name: 'json-body' }
)

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns the value of a JSON text. An integer beyond 2^53 becomes a bigint.
 * lossless-json rejects a property that occurs twice with different values.
 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return parse(utf8.decode(bytes), requireWellFormed, { parseNumber })
  } catch (error) {
    if (error instanceof SyntaxError)
      throw badRequest(`The body must be JSON: ${error.message}`)
    if (error instanceof TypeError) throw badRequest('The body must be UTF-8')
    // Thousands of levels of arrays or objects exhaust the stack.
    if (error instanceof RangeError)
      throw badRequest('The body must not be nested so deeply')
    throw error
  }
}

/** PostgreSQL cannot store unpaired surrogates. */
function requireWellFormed(name: string, value: unknown): unknown {
  const isWellFormed =
    name.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())
  if (!isWellFormed)
    throw badRequest('The body must not have unpaired surrogates')

  return value
}

/**
 * Parses a decimal number, to a bigint if it is an integer that a number would
 * round.
 */
export function parseNumber(text: string): number | bigint {
  const number = Number(text)
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number)
    ? BigInt(text)
    : number
}
