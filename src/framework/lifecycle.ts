// Start and stop of the service, each as a list of steps.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { collectDefaultMetrics } from 'prom-client'
import type { Api } from './api.ts'
import { ApiKeyStore } from './keys/store.ts'
import { apiKeyMeasurer } from './keys/measure-keys.ts'
import { buildApp } from '../app.ts'
import { BackgroundWork } from './background-work.ts'
import { type Config, loadConfig } from './config.ts'
import { startRemovingExpiredIdempotencyKeys } from './creates/expired-idempotency-keys.ts'
import { idempotencyKeyMeasurer } from './creates/measure-idempotency-keys.ts'
import { listen } from './listen.ts'
import { createLogger, exitWithError } from './log.ts'
import { type OpenedDatabase, openForService } from './open-database.ts'
import { readApiDocument } from './openapi/document.ts'
import type { Database } from './postgres/database.ts'
import { repeat } from './postgres/repeat.ts'
import { welcome } from './welcome.ts'

/** Milliseconds between two measurements of the database. */
const measureIntervalMs = 10_000

export interface Service extends OpenedDatabase {
  config: Config
  log: Logger
  app: FastifyInstance
  background: BackgroundWork
  /** Resolves when a new user has been told how to begin. */
  welcomed: Promise<void>
}

/**
 * Starts the service of an API on the configuration of the environment.
 *
 * @throws Error that names the variable when the configuration, the embedded
 *   PostgreSQL or a port cannot be used
 */
export async function start(api: Api): Promise<Service> {
  // 1. Read the configuration and the OpenAPI document.
  const config = loadConfig(process.env)
  const log = createLogger(config.LOG_LEVEL)
  const apiDocument = readApiDocument(api.openapi)

  // 2. Open DATABASE_URL, or start the embedded PostgreSQL and migrate it.
  const opened = await openForService(config, api, log)
  const { database, stopServer, ready } = opened

  // 3. Build the app and listen. Without its database, it responds with 503.
  if (config.METRICS_PORT !== undefined) collectDefaultMetrics()
  const parts = { config, api, apiDocument, database, log }
  const app = await buildApp(parts)
  const url = await listen(app, config)

  // 4. Start the background work when the database has its tables.
  const background = new BackgroundWork(() =>
    startBackgroundWork(config, api, database, log)
  )
  ready.then(() => background.start()).catch(exitWithError)

  // 5. On the embedded PostgreSQL, create the first API key, and show how to
  //    begin. A stop waits for this: the API key is shown only once.
  const isEmbedded = config.DATABASE_URL === undefined
  const welcomed = isEmbedded
    ? welcomeUser(database, url, apiDocument.firstPath)
    : Promise.resolve()
  welcomed.catch(exitWithError)

  return { config, log, app, background, database, stopServer, welcomed }
}

/** @returns a function that stops the work */
function startBackgroundWork(
  config: Config,
  api: Api,
  database: Database,
  log: Logger
): () => void {
  const { IDEMPOTENCY_KEY_HOURS: hours, METRICS_PORT: metricsPort } = config
  const stopFunctions = [
    startRemovingExpiredIdempotencyKeys(database, hours, log)
  ]

  if (metricsPort !== undefined)
    stopFunctions.push(...startMeasuring(api, database, log))

  return () => {
    for (const stopOne of stopFunctions) stopOne()
  }
}

/**
 * Reads the metrics of the framework and of the API from the database. Each is
 * a task of its own: a failure of one does not affect the others.
 *
 * @returns the functions that stop them
 */
function startMeasuring(
  api: Api,
  database: Database,
  log: Logger
): (() => void)[] {
  const tasks = [
    { name: 'measure API keys', work: apiKeyMeasurer(database) },
    { name: 'measure Idempotency-Keys', work: idempotencyKeyMeasurer(database) }
  ]
  if (api.measurer !== undefined)
    tasks.push({ name: 'measure the API', work: api.measurer(database) })

  return tasks.map(({ name, work }) =>
    repeat({ name, work, intervalMs: measureIntervalMs }, log)
  )
}

async function welcomeUser(
  database: Database,
  url: string,
  path: string
): Promise<void> {
  const apiKey = await createFirstApiKey(database)
  console.log(welcome(url, path, apiKey))
}

/** Creates an API key if there is none, and returns it. */
async function createFirstApiKey(
  database: Database
): Promise<string | undefined> {
  const apiKeys = new ApiKeyStore(database)
  const existing = await apiKeys.list()
  return existing.length === 0 ? apiKeys.create('first') : undefined
}

/**
 * Stops the service. Open requests get their responses, unless they need longer
 * than SHUTDOWN_TIMEOUT_MS.
 */
export async function stop(service: Service): Promise<void> {
  const { config, log, app, background, database } = service
  log.info('stopping')

  // 1. Fail /readyz, so that proxies send new requests elsewhere.
  app.isDraining = true

  // 2. Keep serving until they have noticed.
  await sleep(config.SHUTDOWN_DELAY_MS)

  // 3. Stop accepting connections, and finish the open requests.
  await app.close()

  // 4. Stop the background work.
  background.stop()

  // 5. Show the first API key, if it is being created.
  await service.welcomed

  // 6. Close the database. DATABASE_TIMEOUT_MS limits its statements.
  await database.close()

  // 7. Stop the embedded PostgreSQL.
  await service.stopServer()

  // 8. The caller ends the process, which writes the rest of the log.
  log.info('stopped')
}
