import Fastify, { type FastifyBaseLogger } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { rateLimited, rejectedKeys, registry, requestDuration, requestsInFlight } from '../metrics.ts'
import { httpServer } from './server.ts'

/** Measures every request. If its client disconnects before the end of the response, no duration is recorded. */
export const requestMetrics = fp((app) => {
  app.addHook('onRequest', (_request, reply, next) => {
    requestsInFlight.count++
    reply.raw.once('close', () => requestsInFlight.count--)
    next()
  })
  app.addHook('onResponse', ({ routeOptions, apiKey }, { statusCode: status, elapsedTime }, next) => {
    const { operation = 'none' } = routeOptions.config
    requestDuration.observe({ operation, status }, elapsedTime / 1000)
    if (status === 401) rejectedKeys.inc({ reason: String(apiKey?.state) })
    if (status === 429) rateLimited.inc({ limit: apiKey?.state === 'valid' ? 'key' : 'address' })
    next()
  })
})

/** The server of /metrics, without authentication, for a port that is not published. */
export function metricsServer(config: Config, log: FastifyBaseLogger) {
  const server = httpServer(config, log)
  const app = Fastify(server.options)
  app.addHook('preClose', server.closeConnections)
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}
