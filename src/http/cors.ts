import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

export interface CrossOriginOptions {
  /** Such as https://example.com. */
  origins: string[]
  methods: string[]
  /** The names of the response headers that pages may read. */
  exposedHeaders: string[]
}

/**
 * Lets pages of other origins call the service, by @fastify/cors. An OPTIONS request that is no preflight
 * (https://fetch.spec.whatwg.org/#cors-preflight-request) is rejected as elsewhere. Register it before what rejects requests,
 * so that a page can read the error too.
 */
export const crossOrigin = fp<CrossOriginOptions>(async (app, { origins, methods, exposedHeaders }) => {
  const options: FastifyCorsOptions = {
    origin: origins,
    methods,
    exposedHeaders,
    // Seconds: the longest that browsers take.
    maxAge: 7200
  }
  const isPreflight = ({ headers }: FastifyRequest) =>
    headers.origin !== undefined && headers['access-control-request-method'] !== undefined
  await app.register(cors, {
    delegator: (request: FastifyRequest, done: (error: Error | null, options: FastifyCorsOptions) => void) => {
      done(null, request.method === 'OPTIONS' && !isPreflight(request) ? { ...options, origin: false } : options)
    }
  })
})
