import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { type Config, trustedProxies } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { connectionOptions } from './connections.ts'
import { defaultHeaders } from './default-headers.ts'
import { sendError } from '../errors.ts'
import { AccessLog, requestId } from './request-log.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Set at shutdown, while requests are still served. */
    isDraining: boolean
  }
}

/**
 * Creates Fastify with default headers, an Error body for each error, and
 * limits for connections. Each limit is a variable of the configuration.
 *
 * At shutdown, each response closes its connection, so that clients reconnect
 * to another replica.
 */
export function createFastify(
  config: Config,
  metrics: Metrics,
  log: FastifyBaseLogger
): FastifyInstance {
  const app = Fastify({
    ...connectionOptions(config, metrics),
    loggerInstance: log,
    logController: new AccessLog(),
    genReqId: requestId,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    bodyLimit: config.MAX_BODY_BYTES,
    // Node.js limits the whole URL, with the headers.
    routerOptions: { maxParamLength: 65536 },
    // While closing, requests on open connections are served, with
    // Connection: close.
    return503OnClosing: false,
    frameworkErrors: sendError
  })
  app.decorate('metrics', metrics)
  app.decorate('isDraining', false)
  app.decorateRequest('errorCode', undefined)
  app.setErrorHandler(sendError)
  app.addHook('onRequest', ({ id }, reply, done) => {
    reply.headers(defaultHeaders(id))
    done()
  })
  // An onRequest hook would miss requests that came before the shutdown.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.isDraining) reply.raw.shouldKeepAlive = false
    done(null, payload)
  })

  return app
}
