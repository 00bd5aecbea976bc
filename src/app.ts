import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Operations } from '../generated/operations.ts'
import { type Config, trustedProxies } from './config.ts'
import type { Contract } from './contract.ts'
import type { Database } from './database/database.ts'
import { migrationCheck } from './database/migrations.ts'
import { authentication } from './http/authentication.ts'
import { routeExpectations } from './http/body.ts'
import { crossOrigin } from './http/cors.ts'
import { docs } from './http/docs.ts'
import { sendError } from './http/errors.ts'
import { health } from './http/health.ts'
import { requestMetrics } from './http/metrics.ts'
import { missing } from './http/missing.ts'
import { operations } from './http/operations.ts'
import { refuse, refuseConnect } from './http/refusals.ts'
import { requestId, RequestLog, requests, setDefaultHeaders } from './http/requests.ts'
import { keyChannel, keyStore } from './keys/store.ts'
import { keyVerifier } from './keys/verifier.ts'

export interface AppOptions {
  config: Config
  contract: Contract
  database: Database
  handlers: Operations
  logger: FastifyBaseLogger
}

/** The service, ready to listen: what a request passes, in this order. Production and tests both use it. */
export async function buildApp({ config, contract, database, handlers, logger }: AppOptions): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: logger,
    logController: new RequestLog(),
    genReqId: requestId,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    bodyLimit: config.BODY_LIMIT,
    requestTimeout: config.REQUEST_TIMEOUT,
    keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT,
    connectionTimeout: config.IDLE_TIMEOUT,
    // A path parameter is as long as the document allows; Node bounds the whole header section.
    routerOptions: { maxParamLength: 65536 },
    // A request that comes while we close is served, with Connection: close, and not answered past the error handler.
    return503OnClosing: false,
    // Node would answer a missing Host in no body of ours: `requests` does.
    // A time-out for headers above the one for requests would be swapped with it; both are looked at once a second.
    http: {
      requireHostHeader: false,
      maxHeaderSize: config.HEADER_LIMIT,
      requestTimeout: config.REQUEST_TIMEOUT,
      headersTimeout: Math.min(config.HEADERS_TIMEOUT, config.REQUEST_TIMEOUT),
      connectionsCheckingInterval: 1000
    },
    clientErrorHandler: refuse,
    frameworkErrors: (error, request, reply) => {
      setDefaultHeaders(request, reply)
      sendError(error, request, reply)
    }
  })
  // Node drops headers beyond a count in silence, Authorization too; the size of the section is the limit.
  app.server.maxHeadersCount = 0
  app.server.maxConnections = config.MAX_CONNECTIONS
  routeExpectations(app.server)
  refuseConnect(app.server)
  app.setErrorHandler(sendError)

  const keys = keyVerifier(keyStore(database))
  database.listen(keyChannel, () => keys.distrust())

  await app.register(requests)
  if (config.METRICS_PORT !== undefined) await app.register(requestMetrics)
  if (config.CORS_ORIGINS !== undefined) {
    await app.register(crossOrigin, { origins: config.CORS_ORIGINS.split(','), contract })
  }
  await app.register(missing)
  await app.register(authentication, {
    keys,
    rateLimit: config.RATE_LIMIT_MAX,
    failuresLimit: config.AUTH_FAILURES_MAX
  })
  await app.register(operations, { contract, handlers, schemes: { bearerAuth: app.requireApiKey } })
  await app.register(docs, { contract, environment: config.ENVIRONMENT })
  await app.register(health, { checkReady: migrationCheck(database) })
  return app
}
