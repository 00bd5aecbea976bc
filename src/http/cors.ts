import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Lets pages of other origins, such as https://example.com, call the service. Register it before plugins that reject
 * requests, so that a page can read their errors. An OPTIONS request that is not a preflight
 * (https://fetch.spec.whatwg.org/#cors-preflight-request) gets the 405 of any other method.
 */
export const crossOrigin = fp<FastifyCorsOptions>(async (app, options) => {
  // Seconds: the longest time that browsers accept.
  const allowed = { ...options, maxAge: 7200 }
  await app.register(cors, {
    delegator({ method, headers }: FastifyRequest, done: (error: null, options: FastifyCorsOptions) => void) {
      const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined
      done(null, method === 'OPTIONS' && !isPreflight ? { origin: false } : allowed)
    }
  })
})
