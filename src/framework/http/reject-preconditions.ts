import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/**
 * Rejects conditions of a request that an operation does not evaluate. To
 * ignore them would let a request take effect that its client has forbidden.
 *
 * They are the preconditions of RFC 9110, section 13.1, that compare an ETag,
 * and the Idempotency-Key: take effect only once. The other preconditions
 * compare a modification date. This service has none, so it ignores them.
 *
 * @param operation its method, and its headers in lower case
 */
export function rejectPreconditions(operation: {
  method: string
  headers: string[]
}): onRequestHookHandler {
  const conditions = ['If-Match', 'Idempotency-Key']
  // Without an ETag, no tag matches: it does not prevent a read.
  if (operation.method !== 'GET') conditions.push('If-None-Match')
  const unsupported = conditions.filter(
    (name) => !operation.headers.includes(name.toLowerCase())
  )

  return ({ headers }, _reply, done) => {
    const sent = unsupported.find((name) => name.toLowerCase() in headers)
    if (sent === undefined) done()
    else
      done(badRequest(`The operation does not support ${sent}: leave it out`))
  }
}
