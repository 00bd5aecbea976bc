import type {
  FastifyInstance,
  onRequestHookHandler,
  preValidationHookHandler
} from 'fastify'
import { isInteger, isSafeNumber, parse } from 'lossless-json'
import { messageOf } from '../message-of.ts'
import { badRequest } from '../errors.ts'

/**
 * Parses request bodies as JSON (RFC 8259) in UTF-8, and rejects bodies of
 * every other Content-Type.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (_request, bytes, done) => {
      done(null, bytes.length === 0 ? undefined : parseJson(bytes))
    }
  )
}

/**
 * Fastify validates a body by the schema of its Content-Type, and so skips a
 * request without either. acceptJson has rejected other types than JSON.
 */
export const requireBody: preValidationHookHandler = ({ body }, _reply, done) =>
  done(body === undefined ? badRequest('body must not be empty') : undefined)

/**
 * Rejects a request with content, for operations without a request body: it
 * would be lost (RFC 9110, sections 9.3.1 and 9.3.5). Clients add a
 * Content-Length of 0, or a Content-Type, which are accepted.
 */
export const rejectBody: onRequestHookHandler = ({ raw }, _reply, done) => {
  const { headers } = raw
  const { 'content-length': length = '0' } = headers
  // Fastify would parse the empty body of a DELETE that has it.
  delete headers['content-type']
  const hasBody = Number(length) > 0 || 'transfer-encoding' in headers
  done(hasBody ? badRequest('The request must not have a body') : undefined)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns the value of a JSON text. An integer beyond 2^53 becomes a bigint.
 * lossless-json rejects a property that occurs twice with different values, and
 * thousands of levels of arrays or objects exhaust its stack.
 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = utf8.decode(bytes)
    // In valid UTF-8 and JSON, only an escape can write what is not storable.
    const check = text.includes('\\u') ? requireStorable : undefined
    return parse(text, check, { parseNumber })
  } catch (error) {
    const reason =
      error instanceof RangeError ? 'it is nested too deeply' : messageOf(error)
    throw badRequest(`The body must be JSON in UTF-8: ${reason}`)
  }
}

function requireStorable(name: string, value: unknown): unknown {
  if (!isStorable(name) || (typeof value === 'string' && !isStorable(value)))
    throw new Error('it has an unpaired surrogate or U+0000')

  return value
}

/** PostgreSQL cannot store unpaired surrogates and U+0000. */
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')

/**
 * Parses a decimal number, to a bigint if it is an integer that a number would
 * round.
 *
 * @throws Error if a number would round a fraction to an integer, such as the
 *   id of something else
 */
export function parseNumber(text: string): number | bigint {
  if (isInteger(text)) return isSafeNumber(text) ? Number(text) : BigInt(text)

  const number = Number(text)
  if (Number.isInteger(number) && !isSafeNumber(text))
    throw new Error('it has a number with too many digits')
  return number
}
