import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'
import { badRequest } from './errors.ts'

/**
 * The characters of RFC 3986, section 3.2.2. Node.js joins repeated Host
 * headers by a comma and a space.
 */
const validHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/

/** Rejects requests that RFC 9112 forbids and Node.js accepts. */
export const validHttp = fp(
  (app) => {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      if (!hasValidHost(raw))
        done(badRequest('The request must have one valid Host header'))
      else if (hasFragment(raw))
        done(badRequest('The path and query must not contain #'))
      else if (hasUnsupportedCoding(raw))
        done(badRequest('Transfer-Encoding must be chunked, in HTTP/1.1'))
      else done()
    })
  },
  { name: 'valid-http' }
)

/** RFC 9112, section 3.2. The router would take it for a query. */
const hasFragment = ({ url }: IncomingMessage) => String(url).includes('#')

/** RFC 9112, section 3.2. */
function hasValidHost({ headers, httpVersion }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion === '1.0'
  return validHost.test(headers.host)
}

/**
 * Whether a proxy may disagree about where the body of a request ends (RFC
 * 9112, section 6.1). The connection must close after the response.
 */
export function hasUnsupportedCoding(request: IncomingMessage): boolean {
  const coding = request.headers['transfer-encoding']
  if (coding === undefined) return false
  return coding.toLowerCase() !== 'chunked' || request.httpVersion !== '1.1'
}
