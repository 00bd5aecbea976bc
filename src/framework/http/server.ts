import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerOptions
} from 'fastify'
import { type Config, trustedProxies } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { connectionOptions, limitShutdown } from './connections.ts'
import { sendError } from './errors.ts'
import { AccessLog, requestId } from './request-log.ts'

/** Fastify, with an Error body for each error, and limits for connections. */
export function createServer(
  config: Config,
  metrics: Metrics,
  log: FastifyBaseLogger
): FastifyInstance {
  const app = Fastify(fastifyOptions(config, metrics, log))
  app.addHook('preClose', limitShutdown(config.SHUTDOWN_TIMEOUT_MS))
  app.decorate('metrics', metrics)
  app.decorateRequest('errorCode', undefined)
  app.setErrorHandler(sendError)

  return app
}

/** The options of Fastify; each limit is a variable of the configuration. */
function fastifyOptions(
  config: Config,
  metrics: Metrics,
  log: FastifyBaseLogger
): FastifyServerOptions {
  return {
    ...connectionOptions(config, metrics),
    loggerInstance: log,
    logController: new AccessLog(),
    genReqId: requestId,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    bodyLimit: config.MAX_BODY_BYTES,
    // MAX_HEADER_BYTES limits the whole URL.
    routerOptions: { maxParamLength: 65536 },
    // While closing, requests on open connections are served, with
    // Connection: close.
    return503OnClosing: false,
    frameworkErrors: sendError
  }
}
