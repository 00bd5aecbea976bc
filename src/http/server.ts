import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController
} from 'fastify'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'
import type { Metrics } from '../metrics.ts'
import { manageConnections, handleClientError } from './connections.ts'
import { defaultHeaders, sendError } from './error-responses.ts'
import { logRequests, requestIdOf } from './request-log.ts'

declare module 'fastify' {
  interface FastifyInstance {
    metrics: Metrics
    /** Set at shutdown, while requests are still served. */
    isDraining: boolean
  }
}

/** Pages of all origins may read the error: it has no data. */
const unroutableHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': '*',
  connection: 'close'
}

/** Milliseconds to receive a complete request, and between checks of it. */
const requestTimeoutMs = 30_000
const timeoutCheckMs = 1000

/**
 * Creates Fastify with default headers, an Error body for each error, limits
 * for connections, and the log of requests.
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
    loggerInstance: log,
    // `logRequests` writes one line for a request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    // The proxy in front tells the address of its client. With the number of
    // proxies in place of a function, Fastify would trust none of them.
    trustProxy: (_address, hop) => hop === 0,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: config.IDLE_TIMEOUT_MS,
    keepAliveTimeout: config.IDLE_TIMEOUT_MS,
    http: {
      // Of two Authorization headers, Node.js would drop the second.
      joinDuplicateHeaders: true,
      connectionsCheckingInterval: timeoutCheckMs
    },
    // Node.js limits the whole URL, with the headers.
    routerOptions: { maxParamLength: 65536 },
    // While closing, requests on open connections are served, with
    // Connection: close.
    return503OnClosing: false,
    clientErrorHandler: handleClientError,
    // For a path that is not percent-encoded UTF-8. The error precedes the hooks
    // of @fastify/cors and of `manageConnections`.
    frameworkErrors: (error, request, reply) =>
      sendError(error, request, reply.headers(unroutableHeaders))
  })
  app.decorate('metrics', metrics)
  app.decorate('isDraining', false)
  app.setErrorHandler(sendError)
  manageConnections(app)
  logRequests(app)

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(defaultHeaders(request.id))
    done()
  })
  // An onRequest hook would miss requests that came before the shutdown.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.isDraining) reply.header('connection', 'close')
    done(null, payload)
  })

  return app
}

/**
 * Listens on HOST and the port of a variable.
 *
 * @returns the URL
 * @throws Error that says what Node.js rejects, and which variables to set
 */
export const listen = (
  app: FastifyInstance,
  config: Config,
  variable: 'PORT' | 'METRICS_PORT'
): Promise<string> =>
  app
    .listen({ host: config.HOST, port: Number(config[variable]) })
    .catch((cause: unknown) => {
      const message = `${messageOf(cause)}: set HOST or ${variable}`
      throw new Error(message, { cause })
    })
