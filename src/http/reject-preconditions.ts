import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/**
 * Those of RFC 9110, section 13.1, that need no modification date. Without one,
 * a server ignores the others.
 */
const preconditions = {
  'if-match': 'If-Match',
  'if-none-match': 'If-None-Match'
}

/**
 * Rejects preconditions that an operation does not evaluate. To ignore them
 * would let a request take effect that its client has forbidden.
 *
 * @param supported the headers of the operation, in lower case
 */
export function rejectPreconditions(supported: string[]): onRequestHookHandler {
  const unsupported = Object.entries(preconditions).filter(
    ([name]) => !supported.includes(name)
  )

  return ({ headers }, _reply, done) => {
    const sent = unsupported.find(([name]) => headers[name] !== undefined)

    if (sent === undefined) done()
    else
      done(badRequest(`The operation does not support the header ${sent[1]}`))
  }
}
