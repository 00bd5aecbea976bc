// Start and stop of the service, each as a list of steps.
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from './app.ts'
import type { Api } from './framework/api.ts'
import { loadConfig } from './framework/config.ts'
import { removeExpiredIdempotencyKeys } from './framework/creates/expired-idempotency-keys.ts'
import { ApiKeyStore } from './framework/keys/store.ts'
import { exitOnError } from './framework/exit-on-error.ts'
import { listen } from './framework/http/listen.ts'
import { createLogger } from './framework/log.ts'
import { Metrics } from './framework/metrics.ts'
import { openForService } from './framework/open-database.ts'
import { readApiDocument } from './framework/openapi/document.ts'

/** The service that has been started. */
export type Service = Awaited<ReturnType<typeof start>>

/**
 * Starts the service of an API, with the configuration of the environment.
 *
 * @throws Error that names the variable when the configuration, the embedded
 *   PostgreSQL or a port cannot be used
 */
export async function start(api: Api) {
  const { service: serviceName, apiKeyPrefix } = api.names
  const exitWithError = exitOnError(serviceName)

  // 1. Read the configuration and the OpenAPI document; make log and metrics.
  const config = loadConfig(process.env)
  const log = createLogger(config.LOG_LEVEL, apiKeyPrefix)
  const metrics = new Metrics()
  const apiDocument = readApiDocument(api.openapiFile)

  // 2. Open DATABASE_URL, or start the embedded PostgreSQL and migrate it.
  const { ready, ...opened } = await openForService(config, api, log, metrics)
  const { database, checkReady, crash } = opened
  crash?.then(exitWithError, exitWithError)

  // 3. Build the app and listen. Without its database, it responds with 503.
  const parts = { config, api, apiDocument, database, metrics, checkReady, log }
  const app = await buildApp(parts)
  await app.ready()
  const url = await listen(app, config, 'PORT')

  // 4. Start the background work when the database has its tables.
  const background = new AbortController()
  ready
    .then(() => removeExpiredIdempotencyKeys(database, log, background.signal))
    .catch(exitWithError)

  // 5. On the embedded PostgreSQL, create the first API key, and show how to
  //    begin. A stop waits for this: the API key is shown only once.
  const isEmbedded = config.DATABASE_URL === undefined
  const welcomed = isEmbedded
    ? welcome(new ApiKeyStore(database, apiKeyPrefix, log), url, apiDocument)
    : Promise.resolve()
  welcomed.catch(exitWithError)

  return { ...opened, config, log, app, background, welcomed }
}

/**
 * Stops the service. Open requests get their responses, unless they need longer
 * than SHUTDOWN_TIMEOUT_MS.
 */
export async function stop(service: Service): Promise<void> {
  const { config, log, app } = service
  log.info('stopping')

  // 1. Fail /readyz, so that proxies send new requests elsewhere.
  app.isDraining = true

  // 2. Keep serving until they have noticed.
  await sleep(config.SHUTDOWN_DELAY_MS)

  // 3. Stop accepting connections, and finish the open requests.
  const timer = setTimeout(() => {
    log.warn('closing connections at SHUTDOWN_TIMEOUT_MS')
    app.server.closeAllConnections()
  }, config.SHUTDOWN_TIMEOUT_MS)
  await app.close()
  clearTimeout(timer)

  // 4. Stop the background work.
  service.background.abort()

  // 5. Show the first API key, if it is being created.
  await service.welcomed

  // 6. Close the database, and stop the embedded PostgreSQL.
  //    DATABASE_TIMEOUT_MS limits the statements.
  await service.closeDatabase()

  // 7. The caller ends the process, which writes the rest of the log.
  log.info('stopped')
}

/** Shows the docs, a request and the first API key, which it creates. */
async function welcome(
  store: ApiKeyStore,
  url: string,
  { examplePath }: { examplePath: string }
): Promise<void> {
  const isNew = (await store.list()).length === 0
  const apiKey = isNew ? await store.create('first') : '<API_KEY>'
  const origin = url.replace('[::]', 'localhost')

  console.log(`
  Docs    ${origin}/docs
  Try it  curl ${origin}${examplePath} -H 'Authorization: Bearer ${apiKey}'

  Keys are shown once. Create another: npm run keys -- create --name NAME
`)
}
