import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { rateLimited, refusedKeys, registry, requestDuration, requestsInFlight } from '../metrics.ts'

const ended = () => {
  requestsInFlight.count--
}

/** Counts every request. An answer that its client did not wait for has no duration. */
export const requestMetrics = fp((app, _options: object, done) => {
  app.addHook('onRequest', (_request, reply, next) => {
    requestsInFlight.count++
    reply.raw.once('close', ended)
    next()
  })
  app.addHook('onResponse', ({ routeOptions, apiKey }, { statusCode: status, elapsedTime }, next) => {
    const { operation = 'none' } = routeOptions.config
    requestDuration.observe({ operation, status }, elapsedTime / 1000)
    if (status === 401) refusedKeys.inc({ reason: String(apiKey?.state) })
    if (status === 429) rateLimited.inc({ limit: apiKey?.state === 'valid' ? 'key' : 'address' })
    next()
  })
  done()
})

/** A server of its own for /metrics, so that what is published does not have it. */
export function metricsServer(): FastifyInstance {
  const app = Fastify()
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}
