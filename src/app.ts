import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { Logger } from 'pino'
import type { Api } from './framework/api.ts'
import { bearerAuthentication } from './framework/keys/bearer.ts'
import type { Config } from './framework/config.ts'
import { health } from './framework/http/health.ts'
import { metricsEndpoint } from './framework/http/metrics-endpoint.ts'
import { measureNextExpiry } from './framework/keys/next-expiry.ts'
import { unknownRoutes } from './framework/http/unknown-routes.ts'
import { createFastify } from './framework/http/server.ts'
import type { Metrics } from './framework/metrics.ts'
import { ResponseBuffers } from './framework/reads/response-buffers.ts'
import type { ApiDocument } from './framework/openapi/document.ts'
import { docsPage } from './framework/openapi/docs.ts'
import { operationRoutes } from './framework/openapi/routes.ts'
import type { Database } from './framework/postgres/database.ts'

/** What `buildApp` needs. */
interface AppOptions {
  config: Config
  api: Api
  /** The OpenAPI document at `api.openapiFile`. */
  apiDocument: ApiDocument
  database: Database
  metrics: Metrics
  /** Rejects while the database cannot serve requests. */
  checkReady: () => Promise<void>
  log: Logger
}

/**
 * Builds the service, ready to listen, in production and in tests: the plugins
 * in the order in which a request meets them.
 */
export async function buildApp({
  config,
  api,
  apiDocument,
  database,
  metrics,
  checkReady,
  log
}: AppOptions) {
  const { names } = api
  // Connections, the default headers, errors and the access log.
  const app = createFastify(config, metrics, log)

  if (config.METRICS_PORT !== undefined) {
    measureNextExpiry(database)
    await app.register(metricsEndpoint, { config, apiDocument })
  }

  // @fastify/cors, so that a page can also read the errors of what follows.
  if (config.CORS_ORIGINS !== undefined)
    await app.register(cors, corsOptions(config.CORS_ORIGINS))

  // 404 and 405, before authentication.
  await app.register(unknownRoutes, { apiDocument })

  // @fastify/bearer-auth, for the operations: API keys and rate limits.
  await app.register(bearerAuthentication, { names, database, config })

  // fastify-openapi-glue: the operations of the OpenAPI document, each with its
  // authentication, its validation and its handler.
  const buffers = new ResponseBuffers(config.MAX_RESPONSE_BUFFER_BYTES, metrics)
  await app.register(operationRoutes, {
    apiDocument,
    handlers: api.handlers(database, buffers),
    securityHooks: { bearerAuth: app.requireApiKey }
  })

  // @fastify/swagger with Swagger UI, and what else needs no API key.
  await app.register(docsPage, {
    apiDocument,
    samplesFile: api.samplesFile,
    guideRoot: api.guideRoot,
    environment: config.ENVIRONMENT
  })
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
