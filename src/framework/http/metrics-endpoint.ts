import { hostname } from 'node:os'
import Fastify, { type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { serverErrorCodes } from './errors.ts'

interface Options {
  /** Where it listens. */
  address: { port: number; host: string }
  version: string
  environment: string
  /** The operationIds. */
  operations: string[]
  /** The codes that its OpenAPI document has examples of. */
  errorCodes: string[]
}

/** The label of requests for no operation. */
const noOperation = 'none'

/**
 * Measures every request. It has no duration if its client disconnects before
 * the end of the response. Serves /metrics without authentication, on a port
 * that must not be published.
 */
export const metricsEndpoint = fp<Options>(
  (app, { address, version, environment, operations, errorCodes }) => {
    const { httpErrors, requestDuration, requestsInFlight, ...metrics } =
      app.metrics
    collectDefaultMetrics({
      register: metrics.registry,
      // A container that restarts keeps its host name, not its address.
      labels: { host: hostname() }
    })
    metrics.buildInfo.set({ version, environment }, 1)
    for (const operation of [...operations, noOperation]) {
      for (const code of [...serverErrorCodes, ...errorCodes])
        httpErrors.inc({ operation, code }, 0)
    }

    app.addHook('onRequest', (request, reply, done) => {
      requestsInFlight.inc()
      if (isUntrustedForward(request)) metrics.untrustedForwards.inc()
      reply.raw.once('close', () => requestsInFlight.dec())
      done()
    })

    app.addHook('onResponse', (request, reply, done) => {
      const { errorCode: code, routeOptions } = request
      const operation = routeOptions.schema?.operationId ?? noOperation
      const labels = { operation, status: reply.statusCode }
      requestDuration.observe(labels, reply.elapsedTime / 1000)
      if (code !== undefined) httpErrors.inc({ operation, code })
      done()
    })

    const endpoint = createMetricsServer(metrics.registry)
    app.addHook('onReady', async () => {
      const url = await endpoint.listen(address)
      app.log.info(`metrics at ${url}/metrics`)
    })
    app.addHook('onClose', () => endpoint.close())
  },
  { name: 'metrics' }
)

/**
 * Whether TRUST_PROXY ignores the X-Forwarded-For of a request. `ips` has the
 * address of the proxy, and behind it the addresses that are trusted.
 */
function isUntrustedForward({ headers, ips = [] }: FastifyRequest): boolean {
  const isForwarded = headers['x-forwarded-for'] !== undefined
  return isForwarded && ips.length < 2
}

/** A server with separate limits, in milliseconds. */
function createMetricsServer(registry: Registry) {
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
    const text = await registry.metrics()
    return reply.type(registry.contentType).send(text)
  })

  return endpoint
}
