import type { onRequestHookHandler } from 'fastify'
import { badRequest } from './errors.ts'

/**
 * Rejects a request with content, for operations without a request body: it
 * would be lost (RFC 9110, sections 9.3.1 and 9.3.5). A body of no bytes is
 * accepted, because clients and proxies add one.
 *
 * It reads nothing of a body with a Content-Length. It waits for the first
 * chunk of a chunked body, and discards the others. The connection closes after
 * the response, unless the whole body has arrived.
 */
export const rejectBody: onRequestHookHandler = ({ raw }, reply, done) => {
  const { headers } = raw
  const isChunked = headers['transfer-encoding'] !== undefined

  function accept(): void {
    // Without these headers, Fastify does not parse the empty body of a DELETE.
    delete headers['content-type']
    delete headers['transfer-encoding']
    done()
  }

  function reject(): void {
    raw.off('end', accept)
    reply.header('connection', 'close')
    done(badRequest('The request must not have a body'))
  }

  if (isChunked) raw.once('end', accept).once('data', reject)
  else if (Number(headers['content-length'] ?? 0) === 0) accept()
  else reject()
}
