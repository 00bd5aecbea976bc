import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/**
 * Rejects a request with content, for operations without a request body: it
 * would be lost (RFC 9110, sections 9.3.1 and 9.3.5). Clients add a
 * Content-Length of 0, or a Content-Type, which are accepted. Nothing of a body
 * is read: the connection closes after the response.
 */
export const rejectBody: onRequestHookHandler = ({ raw }, reply, done) => {
  const { headers } = raw
  const { 'content-length': length = '0' } = headers
  // Without it, Fastify does not parse the empty body of a DELETE.
  delete headers['content-type']
  if (Number(length) === 0 && !('transfer-encoding' in headers)) return done()

  reply.header('connection', 'close')
  done(badRequest('The request must not have a body'))
}
