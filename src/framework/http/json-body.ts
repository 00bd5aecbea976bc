import fp from 'fastify-plugin'
import { parse } from 'lossless-json'
import { messageOf } from '../message-of.ts'
import { badRequest } from './errors.ts'

/**
 * Parses request bodies as JSON (RFC 8259) in UTF-8, and rejects bodies of
 * every other Content-Type.
 */
export const jsonBody = fp(
  (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser<Buffer>(
      'application/json',
      { parseAs: 'buffer' },
      (_request, bytes, done) => {
        done(null, bytes.length === 0 ? undefined : parseJson(bytes))
      }
    )
  },
  { name: 'json-body' }
)

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns the value of a JSON text. An integer beyond 2^53 becomes a bigint.
 * lossless-json rejects a property that occurs twice with different values, and
 * thousands of levels of arrays or objects exhaust its stack.
 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return parse(utf8.decode(bytes), requireStorable, { parseNumber })
  } catch (error) {
    throw badRequest(`The body must be JSON in UTF-8: ${messageOf(error)}`)
  }
}

/** PostgreSQL cannot store unpaired surrogates and U+0000. */
function requireStorable(name: string, value: unknown): unknown {
  const text = typeof value === 'string' ? `${name} ${value}` : name
  if (!text.isWellFormed() || text.includes('\0'))
    throw new Error('it has an unpaired surrogate or U+0000')

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
