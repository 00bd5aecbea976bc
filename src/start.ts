import { setTimeout as sleep } from 'node:timers/promises'
import { collectDefaultMetrics } from 'prom-client'
import { KeyStore } from './api-keys/store.ts'
import { buildApp } from './app.ts'
import { loadConfig } from './config.ts'
import { createLogger } from './log.ts'
import { readApiDocument } from './openapi/document.ts'
import { openConfigured } from './postgres/open.ts'
import { privileges } from './resources/index.ts'

/**
 * Starts the service on the configuration of the environment.
 *
 * @returns a function that finishes the requests in flight and stops the service
 * @throws Error when the configuration, the database or a port cannot be used
 */
export async function start(): Promise<() => Promise<void>> {
  const config = loadConfig(process.env)
  const logger = createLogger(config.LOG_LEVEL)
  const apiDocument = readApiDocument()
  const database = await openConfigured(config, 'service', logger, privileges)
  const app = await buildApp(config, apiDocument, database, logger)
  if (config.METRICS_PORT !== undefined) collectDefaultMetrics()
  const { PORT: port, HOST: host } = config
  const url = await app
    .listen({ port, host })
    .catch((error: Error & { code?: string; port?: number }) => {
      const variable =
        error.port === config.METRICS_PORT ? 'METRICS_PORT' : 'PORT'
      throw error.code === 'EADDRINUSE'
        ? new Error(`Port ${error.port} is in use: set ${variable}`)
        : error
    })
  if (config.DATABASE_URL === undefined) {
    const keys = new KeyStore(database)
    const key =
      (await keys.list()).length === 0 ? await keys.create('first') : undefined
    console.log(
      welcome(url.replace('[::]', 'localhost'), apiDocument.basePath, key)
    )
  }
  return async () => {
    logger.info('stopping')
    app.isDraining = true
    await sleep(config.SHUTDOWN_DELAY_MS)
    await app.close()
    // DATABASE_TIMEOUT_MS limits its statements.
    await database.close()
    logger.info('stopped')
  }
}

const welcome = (url: string, basePath: string, key: string | undefined) => `
  Docs    ${url}/docs
  Try it  curl ${url}${basePath}/categories -H 'Authorization: Bearer ${key ?? '<API_KEY>'}'

  ${key === undefined ? 'Create a key' : 'This key is shown once. Create another'}: npm run keys -- create --name NAME
`
