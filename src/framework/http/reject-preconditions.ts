import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/** Without an ETag, no tag matches: If-None-Match does not prevent a read. */
const conditionsOfReads = {
  'if-match': 'If-Match',
  'idempotency-key': 'Idempotency-Key'
}

/**
 * The preconditions of RFC 9110, section 13.1, that compare an ETag, and the
 * Idempotency-Key: take effect only once. The other preconditions compare a
 * modification date. This service has none, so it ignores them.
 */
const conditions = { ...conditionsOfReads, 'if-none-match': 'If-None-Match' }

/**
 * Rejects conditions of a request that an operation does not evaluate. To
 * ignore them would let a request take effect that its client has forbidden.
 *
 * @param operation its method, and its headers in lower case
 */
export function rejectPreconditions(operation: {
  method: string
  headers: string[]
}): onRequestHookHandler {
  const isRead = operation.method === 'GET'
  const relevant = isRead ? conditionsOfReads : conditions
  const unsupported = Object.entries(relevant).filter(
    ([name]) => !operation.headers.includes(name)
  )

  return ({ headers }, _reply, done) => {
    const condition = unsupported.find(([name]) => headers[name] !== undefined)
    if (condition === undefined) return done()

    const [, header] = condition
    const message = `The operation does not support ${header}: leave it out`

    return done(badRequest(message))
  }
}
