// Start and stop of the service, each as a list of steps.
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from './app.ts'
import { loadConfig } from './config.ts'
import { deleteExpiredIdempotencyKeysPeriodically } from './creates/expired-idempotency-keys.ts'
import { exitWithError } from './exit-with-error.ts'
import { listen } from './http/server.ts'
import { createLogger } from './log.ts'
import { Metrics } from './metrics.ts'
import { readApiDocument } from './openapi/document.ts'
import { UnrecoverableDatabaseError } from './postgres/remedies.ts'
import { Database } from './postgres/database.ts'
import { makeCheckReady } from './postgres/readiness.ts'

/** Milliseconds between two looks at a database that is not ready. */
const readyIntervalMs = 1000

/** The service that has been started. */
export type Service = Awaited<ReturnType<typeof start>>

/**
 * Starts the service. It serves, with 503, while it waits for its database.
 *
 * @throws Error that names the variable when the configuration or a port cannot
 *   be used
 */
export async function start(environment: NodeJS.Dict<string>) {
  // 1. Read the configuration and the OpenAPI document; make log and metrics.
  const config = loadConfig(environment)
  const log = createLogger(config.LOG_LEVEL)
  const metrics = new Metrics()
  const apiDocument = readApiDocument()

  // 2. Make the pool of connections, which connects on first use.
  const database = new Database(config.DATABASE_URL, config, log, metrics)
  const checkReady = makeCheckReady(database)

  // 3. Listen: METRICS_PORT when the application is ready, then PORT.
  const parts = { config, apiDocument, database, metrics, checkReady, log }
  const app = await createApp(parts)
  await app.ready()
  const url = await listen(app, config, 'PORT')

  // 4. When the database is ready, start the background work.
  const background = new AbortController()
  const { signal } = background
  untilReady(checkReady, signal)
    .then(() => deleteExpiredIdempotencyKeysPeriodically(database, log, signal))
    .catch(exitWithError)

  return { config, log, app, url, background, database }
}

/**
 * Stops the service. Open requests get their responses, unless they need longer
 * than SHUTDOWN_TIMEOUT_MS.
 */
export async function stop(service: Service): Promise<void> {
  const { config, log, app } = service
  log.info('stopping')

  // 1. Fail /readyz, so that proxies send new requests elsewhere, and keep
  //    serving until they have noticed.
  app.isDraining = true
  await sleep(config.SHUTDOWN_DELAY_MS)

  // 2. Stop accepting connections, and finish the open requests.
  const timer = setTimeout(() => {
    log.warn('closing connections at SHUTDOWN_TIMEOUT_MS')
    app.server.closeAllConnections()
  }, config.SHUTDOWN_TIMEOUT_MS)
  await app.close()
  clearTimeout(timer)

  // 3. Stop the background work, and close the database.
  service.background.abort()
  await service.database.close()
  log.info('stopped')
}

/** @throws UnrecoverableDatabaseError */
async function untilReady(
  checkReady: () => Promise<void>,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await checkReady()
    } catch (error) {
      if (error instanceof UnrecoverableDatabaseError) throw error
    }
    await sleep(readyIntervalMs, undefined, { signal }).catch(() => {})
  }
}
