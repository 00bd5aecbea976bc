import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { register } from 'prom-client'
import { requestDuration, requestsInFlight } from '../metrics.ts'

interface Address {
  port: number
  host: string
}

/**
 * Measures every request; without a duration if its client disconnects before
 * the end of the response. Serves /metrics without authentication, on a port
 * that must not be published.
 */
export const metrics = fp<Address>(
  (app, address) => {
    app.addHook('onRequest', (_request, reply, next) => {
      requestsInFlight.inc()
      reply.raw.once('close', () => requestsInFlight.dec())
      next()
    })

    app.addHook('onResponse', (request, reply, next) => {
      const operation = request.routeOptions.schema?.operationId ?? 'none'
      const labels = { operation, status: reply.statusCode }
      requestDuration.observe(labels, reply.elapsedTime / 1000)
      next()
    })

    const endpoint = metricsEndpoint()
    app.addHook('onReady', async () => {
      const url = await endpoint.listen(address)
      app.log.info(`metrics at ${url}/metrics`)
    })
    app.addHook('onClose', () => endpoint.close())
  },
  { name: 'metrics' }
)

/** A server with separate limits, in milliseconds. */
export function metricsEndpoint() {
  const endpoint = Fastify({
    forceCloseConnections: true,
    // Longer than the interval of a scraper.
    keepAliveTimeout: 120_000,
    connectionTimeout: 150_000,
    requestTimeout: 10_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1000 }
  })
  // Some for several scrapers and their retries.
  endpoint.server.maxConnections = 100

  endpoint.get('/metrics', async (_request, reply) => {
    const text = await register.metrics()
    return reply.type(register.contentType).send(text)
  })
  return endpoint
}
