import type { IncomingHttpHeaders } from 'node:http'
import { safeParse } from 'fast-content-type-parse'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { parse } from 'lossless-json'
import { badRequest, payloadTooLarge } from './errors.ts'

/**
 * Reads request bodies: JSON (RFC 8259) in UTF-8 and nothing else. Every Content-Type comes here, so that none slips
 * past, and what is wrong with it is said after the size was checked.
 */
export const jsonBody = fp((app: FastifyInstance, _options: object, registered: () => void) => {
  const limit = Number(app.initialConfig.bodyLimit)
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (Number(request.headers['content-length']) > limit) done(payloadTooLarge(limit))
    else {
      // The server leaves it to us to ask for the body of a client that waits.
      if (request.headers.expect !== undefined && request.raw.httpVersion === '1.1') reply.raw.writeContinue()
      done(null, payload)
    }
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', '*'],
    { parseAs: 'buffer' },
    (request: FastifyRequest, bytes: Buffer, done) => {
      checkHeaders(request.headers)
      done(null, bytes.length === 0 ? undefined : parseJson(bytes))
    }
  )
  registered()
})

function checkHeaders(headers: IncomingHttpHeaders): void {
  if (headers['content-encoding'] !== undefined) {
    throw badRequest('Content-Encoding must be left out: bodies are read as they are')
  }
  const transferEncoding = headers['transfer-encoding']
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    throw badRequest('Transfer-Encoding must be chunked or be left out')
  }
  const contentType = headers['content-type']
  if (contentType === 'application/json') return
  const { type, parameters } = safeParse(contentType ?? '')
  if (type !== 'application/json') {
    throw badRequest(`Content-Type must be application/json, not ${type || 'left out'}`)
  }
  const charset = parameters['charset']
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw badRequest(`The charset must be utf-8, not ${charset}`)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The value of a JSON text, complete or not at all. An integer beyond 2^53 is a bigint.
 *
 * @throws HttpError 400 for bytes that are not UTF-8, text that is not JSON, a property given twice with different
 *   values, and a string that is not well-formed Unicode
 */
function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw badRequest('The body must be UTF-8')
  }
  let value: unknown
  try {
    value = parse(text, null, { parseNumber })
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it is nested too deeply'
    throw badRequest(`The body must be JSON: ${reason}`)
  }
  // Only an escape can make a surrogate: most bodies have none and are not searched.
  const place = /\\u[dD]/.test(text) ? findIllFormed(value, 'body') : undefined
  if (place !== undefined) throw badRequest(`${place} must be Unicode text: it holds an unpaired surrogate`)
  return value
}

function parseNumber(text: string): number | bigint {
  const number = Number(text)
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
}

/** Where in the value a string, or a property's name, is not well-formed Unicode. */
function findIllFormed(value: unknown, place: string): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : place
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, member] of Object.entries(value)) {
    if (!key.isWellFormed()) return `a property's name in ${place}`
    const found = findIllFormed(member, Array.isArray(value) ? `${place}[${key}]` : `${place}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}
