import { hostname } from 'node:os'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { collectDefaultMetrics } from 'prom-client'
import type { Config } from '../config.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { serverErrorCodes } from './error-responses.ts'
import { listen } from './listen.ts'
import { operationIdOf } from './access-log.ts'

/** A scrape that stalls ends after ten seconds without a byte. */
const endpointOptions = {
  forceCloseConnections: true,
  connectionTimeout: 10_000
}

interface Options {
  config: Config
  apiDocument: ApiDocument
}

/**
 * Measures the duration of every request, unless its client disconnects before
 * the end of the response. Serves /metrics without authentication, on a port
 * that must not be published, and /livez, for when all connections are in use.
 */
export const metricsEndpoint = fp<Options>(
  (app, { config, apiDocument }) => {
    const { metrics } = app
    const { registry } = metrics
    collectDefaultMetrics({
      register: registry,
      // A container that restarts keeps its host name, not its address.
      labels: { host: hostname() }
    })
    metrics.buildInfo.set(
      {
        version: apiDocument.document.info.version,
        environment: config.ENVIRONMENT
      },
      1
    )
    for (const { id } of [{ id: 'none' }, ...apiDocument.operations]) {
      for (const code of serverErrorCodes)
        metrics.httpErrors.inc({ operation: id, code }, 0)
    }

    app.addHook('onResponse', (request, reply, done) => {
      const operation = operationIdOf(request) ?? 'none'
      metrics.requestDuration.observe(
        { operation, status: reply.statusCode },
        reply.elapsedTime / 1000
      )
      done()
    })

    const endpoint = Fastify(endpointOptions)
    endpoint.get('/metrics', async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    })
    endpoint.get('/livez', () => ({ status: 'ok' }))
    app.addHook('onReady', async () => {
      const url = await listen(endpoint, config, 'METRICS_PORT')
      app.log.info(`metrics at ${url}/metrics`)
    })
    app.addHook('onClose', () => endpoint.close())
  },
  { name: 'metrics' }
)
