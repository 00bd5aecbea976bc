import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { register } from 'prom-client'
import { requestDuration, requestsInFlight } from '../metrics.ts'

/**
 * Measures every request; without a duration if its client disconnects before the end of the response. Serves /metrics
 * without authentication, on a port that must not be published.
 */
export const metrics = fp<{ port: number; host: string }>((app, address) => {
  app.addHook('onRequest', (_request, reply, next) => {
    requestsInFlight.inc()
    reply.raw.once('close', () => requestsInFlight.dec())
    next()
  })
  app.addHook(
    'onResponse',
    ({ routeOptions }, { statusCode: status, elapsedTime }, next) => {
      const operation = routeOptions.schema?.operationId ?? 'none'
      requestDuration.observe({ operation, status }, elapsedTime / 1000)
      next()
    }
  )

  const endpoint = Fastify({ forceCloseConnections: true })
  endpoint.get('/metrics', async (_request, reply) =>
    reply.type(register.contentType).send(await register.metrics())
  )
  app.addHook('onReady', async () =>
    app.log.info(`metrics at ${await endpoint.listen(address)}/metrics`)
  )
  app.addHook('onClose', () => endpoint.close())
})
