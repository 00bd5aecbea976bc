import type { IncomingHttpHeaders } from 'node:http'
import { safeParse } from 'fast-content-type-parse'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { parse } from 'lossless-json'
import { badRequest, payloadTooLarge } from './errors.ts'

/**
 * Reads request bodies: JSON (RFC 8259) in UTF-8 and nothing else. It parses every Content-Type, so that none slips past,
 * and rejects a wrong one after it checked the size.
 */
export const jsonBody = fp((app: FastifyInstance, _options: object, registered: () => void) => {
  const limit = Number(app.initialConfig.bodyLimit)
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (Number(request.headers['content-length']) > limit) done(payloadTooLarge(limit))
    else {
      // The server leaves it to this plugin to send 100 Continue, once the request has reached its route.
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

/** Levels of arrays and objects in a body. Whatever handles a body may call itself for each level. */
const maxDepth = 64
const tooDeep = () => badRequest(`The body must not be nested deeper than ${maxDepth} levels`)

/**
 * The value of a JSON text. An integer beyond 2^53 is a bigint.
 *
 * @throws HttpError 400 for bytes that are not UTF-8, text that is not JSON, a property given twice with different
 *   values, nesting beyond `maxDepth`, and a string that is not well-formed Unicode
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
    // The parser calls itself for each level: thousands of them end its stack.
    throw error instanceof SyntaxError ? badRequest(`The body must be JSON: ${error.message}`) : tooDeep()
  }
  const fault = findFault(value)
  if (fault !== undefined) throw badRequest(`body${fault}`)
  return value
}

function parseNumber(text: string): number | bigint {
  const number = Number(text)
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
}

/**
 * Where a string or the name of a property is not well-formed Unicode, as the rest of a message that begins with `body`.
 *
 * @throws HttpError 400 for a value nested deeper than `maxDepth`
 */
function findFault(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : ' must be Unicode text: it holds an unpaired surrogate'
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === maxDepth) throw tooDeep()
  for (const key in value) {
    if (!key.isWellFormed()) return ' must be Unicode text: the name of a property holds an unpaired surrogate'
    const fault = findFault((value as Record<string, unknown>)[key], depth + 1)
    if (fault !== undefined) return (Array.isArray(value) ? `[${key}]` : `.${key}`) + fault
  }
  return undefined
}
