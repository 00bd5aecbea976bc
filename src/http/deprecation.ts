import type { onSendHookHandler } from 'fastify'
import type { Deprecation } from '../deprecation.ts'

/** The headers that announce a deprecation: Deprecation (RFC 9745), Sunset (RFC 8594), and where there is a page, Link. */
function deprecationHeaders({ at, sunset, link }: Deprecation): Record<string, string> {
  return {
    deprecation: `@${at.getTime() / 1000}`,
    sunset: sunset.toUTCString(),
    ...(link !== undefined && { link: `<${link}>; rel="deprecation sunset"` })
  }
}

/** The hook that puts the headers on every answer of a route, a refusal before its own hooks included. */
export function announce(deprecation: Deprecation): onSendHookHandler {
  const headers = deprecationHeaders(deprecation)
  return (_request, reply, payload, done) => {
    reply.headers(headers)
    done(null, payload)
  }
}
