import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics } from 'prom-client'
import { keyStore } from './api-keys/store.ts'
import { buildApp } from './app.ts'
import { type Config, loadConfig } from './config.ts'
import { metricsServer } from './http/metrics-endpoint.ts'
import { createLogger } from './log.ts'
import { readContract } from './openapi/document.ts'
import { openConfigured } from './postgres/open.ts'
import { operationHandlers, privileges } from './resources/index.ts'

/**
 * Starts the service on the configuration of the environment.
 *
 * @returns a function that finishes the requests in flight and stops the service
 * @throws Error when the configuration, the database or a port cannot be used
 */
export async function start(): Promise<() => Promise<void>> {
  const config = loadConfig(process.env)
  const logger = createLogger(config.LOG_LEVEL)
  const contract = readContract()
  const database = await openConfigured(config, 'service', logger, privileges)
  const app = await buildApp({ config, contract, database, handlers: operationHandlers(database, config), logger })
  const metrics = metricsServer()
  const url = await listen(app, 'PORT', config)
  if (config.METRICS_PORT !== undefined) {
    collectDefaultMetrics()
    logger.info(`metrics at ${await listen(metrics, 'METRICS_PORT', config)}/metrics`)
  }
  if (config.DATABASE_URL === undefined) {
    const keys = keyStore(database)
    const key = (await keys.list()).length === 0 ? await keys.create('first') : undefined
    console.log(welcome(url.replace('[::]', 'localhost'), contract.basePath, key))
  }
  return async () => {
    logger.info('stopping')
    app.isDraining = true
    await sleep(config.SHUTDOWN_DELAY)
    await Promise.all([app.close(), metrics.close()])
    // DATABASE_TIMEOUT limits its statements.
    await database.close()
    logger.info('stopped')
  }
}

/** Listens on the port of the variable and returns the URL. */
async function listen(app: Pick<FastifyInstance, 'listen'>, variable: 'PORT' | 'METRICS_PORT', config: Config) {
  const port = Number(config[variable])
  return app.listen({ port, host: config.HOST }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? new Error(`Port ${port} is in use: set ${variable}`, { cause: error }) : error
  })
}

const welcome = (url: string, basePath: string, key: string | undefined) => `
  Docs    ${url}/docs
  Try it  curl ${url}${basePath}/categories -H 'Authorization: Bearer ${key ?? '<API_KEY>'}'

  ${key === undefined ? 'Create a key' : 'This key is shown once. Create another'}: npm run keys -- create --name NAME
`
