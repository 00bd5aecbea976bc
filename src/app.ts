import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { createOperationHandlers } from './handlers/index.ts'
import { health } from './http/health.ts'
import { httpMetrics } from './http/http-metrics.ts'
import { createFastify } from './http/server.ts'
import { unknownRoutes } from './http/unknown-routes.ts'
import { bearerAuthentication } from './api-keys/bearer.ts'
import type { Metrics } from './metrics.ts'
import { docsPage } from './openapi/docs-page.ts'
import type { ApiDocument } from './openapi/document.ts'
import { operationRoutes } from './openapi/routes.ts'
import type { Database } from './postgres/database.ts'
import { ResponseBuffers } from './reads/response-buffers.ts'

interface AppOptions {
  config: Config
  apiDocument: ApiDocument
  database: Database
  metrics: Metrics
  /** Rejects while the database cannot serve requests. */
  checkReady: () => Promise<void>
  log: Logger
}

/**
 * Creates the service, ready to listen, in production and in tests: the plugins
 * in the order in which a request meets them.
 */
export async function createApp({
  config,
  apiDocument,
  database,
  metrics,
  checkReady,
  log
}: AppOptions) {
  // Limits of connections, the default headers, errors and the log of requests.
  const app = createFastify(config, metrics, log)

  if (config.METRICS_PORT !== undefined)
    await app.register(httpMetrics, { config, apiDocument })

  // @fastify/cors, so that a page can also read the errors of what follows.
  if (config.CORS_ORIGINS !== undefined)
    await app.register(cors, corsOptions(config.CORS_ORIGINS))

  // 404 and 405, before authentication.
  await app.register(unknownRoutes)

  // @fastify/bearer-auth, for the operations: API keys and rate limits.
  await app.register(bearerAuthentication, { database, config })

  // fastify-openapi-glue: the operations of the OpenAPI document, each with its
  // authentication, its validation and its handler.
  const buffers = new ResponseBuffers(config.MAX_RESPONSE_BUFFER_BYTES, log)
  await app.register(operationRoutes, {
    apiDocument,
    handlers: createOperationHandlers(database, buffers),
    makeAuthorizationHook: app.makeAuthorizationHook
  })

  // @fastify/swagger with Swagger UI, and what else needs no API key.
  await app.register(docsPage, { apiDocument })
  await app.register(health, { checkReady })

  return app
}

/** Pages of these origins may send every request and read every header. */
const corsOptions = (origins: string): FastifyCorsOptions => ({
  origin: origins.split(','),
  methods: '*',
  exposedHeaders: '*',
  // Seconds: browsers allow no more.
  maxAge: 7200,
  // Otherwise an OPTIONS request that is not a preflight gets a 400 without an
  // Error body.
  strictPreflight: false
})
