import type { IncomingMessage } from 'node:http'
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
  function accept(): void {
    ignoreBody(raw)
    done()
  }

  function reject(): void {
    reply.header('connection', 'close')
    done(badRequest('The request must not have a body'))
  }

  switch (contentOf(raw)) {
    case 'none':
      accept()
      break
    case 'some':
      reject()
      break
    case 'unknown':
      onFirstChunk(raw, reject, accept)
  }
}

/** By the headers. Only its chunks tell whether a chunked body is empty. */
function contentOf({ headers }: IncomingMessage): 'none' | 'some' | 'unknown' {
  if (headers['transfer-encoding'] !== undefined) return 'unknown'
  return Number(headers['content-length'] ?? 0) === 0 ? 'none' : 'some'
}

function onFirstChunk(
  request: IncomingMessage,
  onChunk: () => void,
  onEmpty: () => void
): void {
  request.once('end', onEmpty)
  request.once('data', () => {
    request.off('end', onEmpty)
    onChunk()
  })
}

/** Without these headers, Fastify does not parse the empty body of a DELETE. */
function ignoreBody({ headers }: IncomingMessage): void {
  delete headers['content-length']
  delete headers['content-type']
  delete headers['transfer-encoding']
}
