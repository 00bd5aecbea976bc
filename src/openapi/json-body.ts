import type {
  FastifyInstance,
  onRequestHookHandler,
  preValidationHookHandler
} from 'fastify'
import { badRequest, messageOf } from '../errors.ts'

/** Bytes. A larger body gets 413. */
export const maxBodySize = 65_536

/**
 * Accepts bodies that are JSON in UTF-8, and no others. Fastify's parser would
 * accept text that is stored as another one, or that PostgreSQL cannot store.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: maxBodySize },
    ({ headers }, body: Buffer, done) => {
      if (headers['content-encoding'] !== undefined)
        return done(compressedBodyError)
      try {
        done(null, body.length > 0 ? parseJson(body) : undefined)
      } catch (error) {
        // JSON.parse overflowed the stack.
        const isTooDeep = error instanceof RangeError
        const reason = isTooDeep ? 'it is nested too deeply' : messageOf(error)
        done(badRequest(`The body must be JSON in UTF-8: ${reason}`))
      }
    }
  )
}

const compressedBodyError = badRequest(
  'The body must be sent without Content-Encoding: it would not be decoded'
)

const utf8 = new TextDecoder('utf-8', { fatal: true })

const parseJson = (body: Buffer): unknown =>
  JSON.parse(utf8.decode(body), (_name, value: unknown) => {
    // An escape such as \ud800 can write an unpaired surrogate.
    if (typeof value === 'string' && !value.isWellFormed())
      throw new Error('it has an unpaired surrogate')
    return value
  })

/** Rejects a request without a body: Fastify would not validate it. */
export const requireBody: preValidationHookHandler = ({ body }, _reply, done) =>
  done(body === undefined ? badRequest('body must not be empty') : undefined)

/**
 * Rejects a request with a body, for operations that have none: it would be
 * lost. Clients may send a Content-Type without a body, and proxies an empty
 * body in chunks: only reading it shows that it is empty.
 */
export const rejectBody: onRequestHookHandler = ({ raw }, _reply, done) => {
  const { 'content-length': length, 'transfer-encoding': coding } = raw.headers
  const finish = (hasBody: boolean) =>
    done(hasBody ? unexpectedBodyError : undefined)

  if (coding === undefined) {
    finish(Number(length) > 0)
    return
  }
  const onEnd = () => finish(false)
  raw.once('data', () => {
    raw.off('end', onEnd)
    finish(true)
  })
  raw.once('end', onEnd)
}

const unexpectedBodyError = badRequest('The request must not have a body')
