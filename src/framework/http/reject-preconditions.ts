import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/**
 * The preconditions of RFC 9110, section 13.1, that compare an ETag. The others
 * compare a modification date. This service has none, so it ignores them.
 */
const preconditions = {
  'if-match': 'If-Match',
  'if-none-match': 'If-None-Match'
}

/**
 * Without an ETag, no tag matches, so If-None-Match does not prevent a read.
 */
const preconditionsOfReads = { 'if-match': 'If-Match' }

/**
 * Rejects preconditions that an operation does not evaluate. To ignore them
 * would let a request take effect that its client has forbidden.
 *
 * @param operation its method, and its headers in lower case
 */
export function rejectPreconditions(operation: {
  method: string
  headers: string[]
}): onRequestHookHandler {
  const isRead = operation.method === 'GET'
  const relevant = isRead ? preconditionsOfReads : preconditions
  const unsupported = Object.entries(relevant).filter(
    ([name]) => !operation.headers.includes(name)
  )

  return ({ headers }, _reply, done) => {
    const precondition = unsupported.find(
      ([name]) => headers[name] !== undefined
    )
    if (precondition === undefined) return done()

    const [, header] = precondition
    const message = `The operation does not support ${header}: leave it out`

    return done(badRequest(message))
  }
}
