import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { rateLimited, refusedKeys, registry, requestDuration, requestsInFlight } from '../metrics.ts'
import { httpServer, type HttpServerConfig } from './server.ts'

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

/** The server of /metrics, on a port that is not published. It needs no key. */
export function metricsServer(config: HttpServerConfig, log: FastifyBaseLogger): FastifyInstance {
  const server = httpServer(config, log)
  const app = Fastify(server.options)
  app.addHook('preClose', server.closeConnections)
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}
