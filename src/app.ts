import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger } from 'fastify'
import { apiKeys } from './api-keys/bearer.ts'
import { type Config, trustedProxies } from './config.ts'
import { sendError } from './http/errors.ts'
import { health } from './http/health.ts'
import { metrics } from './http/metrics.ts'
import { requestContext, requestId, RequestLog } from './http/access-log.ts'
import { requestTarget } from './http/not-found.ts'
import { httpServer } from './http/connections.ts'
import type { ApiDocument } from './openapi/document.ts'
import { docsPage } from './openapi/docs.ts'
import { operationRoutes } from './openapi/routes.ts'
import type { Database } from './postgres/database.ts'
import { migrationCheck } from './postgres/migrate.ts'
import { operationHandlers } from './resources/index.ts'
import { removeOldRecords } from './creates/retention.ts'

/** Builds the service, ready to listen, in production and in tests. A request passes the plugins in this order. */
export async function buildApp(
  config: Config,
  apiDocument: ApiDocument,
  database: Database,
  logger: FastifyBaseLogger
) {
  const server = httpServer(config, logger)
  const app = Fastify({
    ...server.options,
    loggerInstance: logger,
    logController: new RequestLog(),
    genReqId: requestId,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    bodyLimit: config.MAX_BODY_BYTES,
    // MAX_HEADER_BYTES limits the whole URL.
    routerOptions: { maxParamLength: 65536 },
    // While closing, requests on open connections are served, with Connection: close.
    return503OnClosing: false,
    frameworkErrors: sendError
  })
  app.addHook('preClose', server.closeConnections)
  app.addHook(
    'onClose',
    removeOldRecords(database, config.IDEMPOTENCY_KEY_HOURS)
  )
  app.setErrorHandler(sendError)

  await app.register(requestContext)
  if (config.METRICS_PORT !== undefined)
    await app.register(metrics, {
      port: config.METRICS_PORT,
      host: config.HOST
    })
  if (config.CORS_ORIGINS !== undefined) {
    // Registered before the plugins that reject requests, so that a page can read their errors.
    await app.register(cors, {
      origin: config.CORS_ORIGINS.split(','),
      methods: '*',
      exposedHeaders: '*',
      // Seconds, the maximum in browsers.
      maxAge: 7200,
      // Otherwise an OPTIONS request that is not a preflight gets a 400 without an Error body.
      strictPreflight: false
    })
  }
  await app.register(requestTarget)
  await app.register(apiKeys, { database, config })
  await app.register(operationRoutes, {
    apiDocument,
    handlers: operationHandlers(database, config),
    securityHooks: { bearerAuth: app.requireApiKey }
  })
  await app.register(docsPage, {
    apiDocument,
    environment: config.ENVIRONMENT
  })
  await app.register(health, { checkReady: migrationCheck(database) })
  return app
}
