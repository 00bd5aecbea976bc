import type { IncomingMessage } from 'node:http'
import {
  errorCodes,
  type FastifyInstance,
  type onRequestHookHandler,
  type preValidationHookHandler
} from 'fastify'
import { isInteger, isSafeNumber, parse } from 'lossless-json'
import { messageOf } from '../message-of.ts'
import { badRequest, HttpError } from '../errors.ts'

const { FST_ERR_CTP_INVALID_MEDIA_TYPE } = errorCodes

/** Bytes. A larger body gets 413. */
const maxBodySize = 65_536

/**
 * Parts of a body that are kept before they are joined. Each takes up to 700
 * bytes more than its content.
 */
const maxParts = 64

const tooLarge = new HttpError(
  413,
  'payload_too_large',
  `The body is larger than ${maxBodySize} bytes`
)

const compressed = badRequest(
  'The body must be sent without Content-Encoding: it would not be decoded'
)

/**
 * Parses request bodies as JSON (RFC 8259) in UTF-8, and rejects bodies of
 * every other Content-Type.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (_request, payload, done) => {
    const { 'content-length': length, 'content-encoding': coding } =
      payload.headers
    if (coding !== undefined) done(compressed)
    else if (Number(length) > maxBodySize) done(tooLarge)
    else readBody(payload, done)
  })
  app.addContentTypeParser('*', (_request, payload, done) => {
    findContent(payload, (hasContent) =>
      done(hasContent ? new FST_ERR_CTP_INVALID_MEDIA_TYPE() : null, undefined)
    )
  })
}

type Done = (error: Error | null, value?: unknown) => void

/**
 * Reads a body that may arrive in any number of parts. Fastify would keep each
 * of them until the end.
 */
function readBody(payload: IncomingMessage, done: Done): void {
  let parts: Buffer[] = []
  let size = 0

  payload.on('data', onData).on('end', onEnd)

  function onData(part: Buffer): void {
    size += part.length
    if (size > maxBodySize) {
      // Node.js drops the rest.
      payload.off('data', onData).off('end', onEnd)
      done(tooLarge)
    } else if (parts.push(part) === maxParts) {
      parts = [Buffer.concat(parts)]
    }
  }

  function onEnd(): void {
    const bytes = Buffer.concat(parts)
    // The request may wait for long, and keeps its listeners.
    parts = []
    try {
      done(null, size === 0 ? undefined : parseJson(bytes))
    } catch (error) {
      done(error as Error)
    }
  }
}

/** Finds whether a request has content: only reading it tells. */
function findContent(
  payload: IncomingMessage,
  found: (hasContent: boolean) => void
): void {
  const onData = () => {
    payload.off('end', onEnd)
    found(true)
  }
  const onEnd = () => found(false)

  payload.once('data', onData).once('end', onEnd)
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
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  // With one of them, Fastify would parse the empty body of a DELETE.
  delete headers['content-type']
  delete headers['transfer-encoding']
  const finish = (hasContent: boolean) =>
    done(hasContent ? unexpectedBody : undefined)

  // Proxies send empty bodies in chunks, too.
  if (coding === undefined) finish(Number(length) > 0)
  else findContent(raw, finish)
}

const unexpectedBody = badRequest('The request must not have a body')

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
 *   id of something else, or is too large for a number
 */
export function parseNumber(text: string): number | bigint {
  if (isInteger(text)) return isSafeNumber(text) ? Number(text) : BigInt(text)

  const number = Number(text)
  // JSON writes Infinity as null.
  const isWhole = Number.isInteger(number) || !Number.isFinite(number)
  if (isWhole && !isSafeNumber(text))
    throw new Error('it has a number with too many digits')
  return number
}
