import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { register } from 'prom-client'
import { requestDuration, requestsInFlight } from '../metrics.ts'

/** Measures every request. If its client disconnects before the end of the response, no duration is recorded. */
export const requestMetrics = fp((app) => {
  app.addHook('onRequest', (_request, reply, next) => {
    requestsInFlight.inc()
    reply.raw.once('close', () => requestsInFlight.dec())
    next()
  })
  app.addHook('onResponse', ({ routeOptions }, { statusCode: status, elapsedTime }, next) => {
    const { operation = 'none' } = routeOptions.config
    requestDuration.observe({ operation, status }, elapsedTime / 1000)
    next()
  })
})

/** The server of /metrics, without authentication, for a port that is not published. */
export function metricsServer() {
  const app = Fastify({ forceCloseConnections: true })
  app.get('/metrics', async (_request, reply) => reply.type(register.contentType).send(await register.metrics()))
  return app
}
