import type { FastifyRequest } from 'fastify'
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
    app.addContentTypeParser(
      types,
      { parseAs: 'buffer' },
      (request: FastifyRequest, bytes: Buffer, done) => {
        requireJson(request)
        done(null, bytes.length === 0 ? undefined : parseJson(bytes))
      }
    )
  },
  { name: 'json-body' }
)

function requireJson({ headers, mediaType = 'left out' }: FastifyRequest) {
  if (headers['content-encoding'] !== undefined)
    throw badRequest('Content-Encoding must be left out')
  // A charset has no effect (RFC 8259, section 11).
  if (mediaType !== 'application/json')
    throw badRequest(`Content-Type must be application/json, not ${mediaType}`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Returns the value of a JSON text. An integer beyond 2^53 becomes a bigint.
 * lossless-json rejects a property that occurs twice with different values.
 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return parse(utf8.decode(bytes), requireWellFormed, { parseNumber })
  } catch (error) {
    throw toBadRequest(error)
  }
}

/** A fault of the body as a 400; any other error as it is. */
function toBadRequest(error: unknown): unknown {
  if (error instanceof SyntaxError)
    return badRequest(`The body must be JSON: ${error.message}`)
  if (error instanceof TypeError) return badRequest('The body must be UTF-8')
  // Thousands of levels of arrays or objects exhaust the stack.
  if (error instanceof RangeError)
    return badRequest('The body must not be nested so deeply')

  return error
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
