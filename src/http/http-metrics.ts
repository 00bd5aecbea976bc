import { hostname } from 'node:os'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { collectDefaultMetrics } from 'prom-client'
import type { Config } from '../config.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { preinitializedErrorCodes } from './error-responses.ts'
import { errorCodeOf, operationIdOf, sentStatusOf } from './request-log.ts'
import { listen } from './server.ts'

interface Options {
  config: Config
  apiDocument: ApiDocument
}

/**
 * Measures requests. Serves /metrics without authentication, on a port that
 * must not be published.
 */
export const httpMetrics = fp<Options>(
  (app, { config, apiDocument }) => {
    const { metrics } = app
    const { registry } = metrics
    collectDefaultMetrics({
      register: registry,
      // A container that restarts keeps its host name, not its address.
      labels: { host: hostname() }
    })
    for (const { id } of [{ id: 'none' }, ...apiDocument.operations]) {
      for (const code of preinitializedErrorCodes)
        metrics.httpErrors.inc({ operation: id, code }, 0)
    }

    app.addHook('onRequest', (request, reply, done) => {
      // The hook onResponse would miss clients that have left.
      reply.raw.once('close', () => {
        const operation = operationIdOf(request)
        const status = sentStatusOf(reply)
        if (status !== undefined)
          metrics.requestDuration.observe(
            { operation, status },
            reply.elapsedTime / 1000
          )
        const code = errorCodeOf(request)
        if (code !== undefined) metrics.httpErrors.inc({ operation, code })
      })
      done()
    })

    const metricsServer = Fastify({ forceCloseConnections: true })
    metricsServer.get('/metrics', async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    })
    app.addHook('onReady', async () => {
      const url = await listen(metricsServer, config, 'METRICS_PORT')
      app.log.info(`metrics at ${url}/metrics`)
    })
    app.addHook('onClose', () => metricsServer.close())
  },
  { name: 'metrics' }
)
