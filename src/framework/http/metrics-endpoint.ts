import { hostname } from 'node:os'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { serverErrorCodes } from './errors.ts'

interface Options {
  config: Config
  apiDocument: ApiDocument
}

/** The label of requests for no operation. */
const noOperation = { id: 'none' }

/**
 * Measures every request. It has no duration if its client disconnects before
 * the end of the response. Serves /metrics without authentication, on a port
 * that must not be published.
 */
export const metricsEndpoint = fp<Options>(
  (app, { config, apiDocument }) => {
    const { document, operations } = apiDocument
    const { httpErrors, registry, ...metrics } = app.metrics
    collectDefaultMetrics({
      register: registry,
      // A container that restarts keeps its host name, not its address.
      labels: { host: hostname() }
    })
    const { version } = document.info
    metrics.buildInfo.set({ version, environment: config.ENVIRONMENT }, 1)
    for (const { id: operation } of [noOperation, ...operations]) {
      for (const code of serverErrorCodes)
        httpErrors.inc({ operation, code }, 0)
    }

    app.addHook('onRequest', ({ headers, ips }, { raw }, done) => {
      metrics.requestsInFlight.inc()
      raw.once('close', () => metrics.requestsInFlight.dec())
      // `ips` has the address of the proxy, and behind it those that
      // TRUST_PROXY trusts.
      if ('x-forwarded-for' in headers && ips?.[1] === undefined)
        metrics.untrustedForwards.inc()
      done()
    })

    app.addHook('onResponse', (request, reply, done) => {
      const { errorCode: code, routeOptions } = request
      const operation = routeOptions.schema?.operationId ?? noOperation.id
      const labels = { operation, status: reply.statusCode }
      metrics.requestDuration.observe(labels, reply.elapsedTime / 1000)
      if (code !== undefined) httpErrors.inc({ operation, code })
      done()
    })

    const endpoint = metricsServer(registry)
    app.addHook('onReady', async () => {
      const { METRICS_PORT: port = 0, HOST: host } = config
      const url = await endpoint.listen({ port, host })
      app.log.info(`metrics at ${url}/metrics`)
    })
    app.addHook('onClose', () => endpoint.close())
  },
  { name: 'metrics' }
)

/** The server of /metrics, with limits of its own in milliseconds. */
function metricsServer(registry: Registry) {
  const endpoint = Fastify({
    forceCloseConnections: true,
    requestTimeout: 10_000,
    http: { headersTimeout: 10_000 }
  })
  // Some for several scrapers and their retries.
  endpoint.server.maxConnections = 100
  endpoint.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })

  return endpoint
}
