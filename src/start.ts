import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { keyStore } from './api-keys/store.ts'
import { buildApp } from './app.ts'
import { type Config, loadConfig } from './config.ts'
import { metricsServer } from './http/metrics-endpoint.ts'
import { createLogger, fail } from './log.ts'
import { watchProcess } from './metrics.ts'
import { readContract } from './openapi/document.ts'
import { alreadyRunning, findService } from './postgres/embedded/running.ts'
import { openConfigured } from './postgres/open.ts'
import { operationHandlers, privileges } from './resources/index.ts'

/** Milliseconds for the database to finish after SHUTDOWN_TIMEOUT, when all client connections are closed. */
const databaseGrace = 1000

/**
 * Starts the service on the configuration of the environment.
 *
 * @param stopping ends the start; it rejects then, and leaves nothing behind
 * @returns a function that finishes the requests in flight and stops the service
 */
export async function start(stopping: AbortSignal): Promise<() => Promise<void>> {
  const config = loadConfig(process.env)
  const logger = createLogger(config.LOG_LEVEL)
  const contract = readContract()
  // Before a database is created in vain.
  const running = config.DATABASE_URL === undefined ? await findService(config.DATA_DIR) : undefined
  if (running !== undefined) throw alreadyRunning(running.pid)
  await rejectUsedPort('PORT', config)
  await rejectUsedPort('METRICS_PORT', config)
  const database = await openConfigured(config, 'service', logger, privileges, stopping)
  try {
    const { HOST: host, SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT } = config
    const app = await buildApp({ config, contract, database, handlers: operationHandlers(database, config), logger })
    stopping.throwIfAborted()
    const url = await app.listen({ port: config.PORT, host })
    const metrics = metricsServer(config, logger)
    if (config.METRICS_PORT !== undefined) {
      watchProcess()
      logger.info(`metrics at ${await metrics.listen({ port: config.METRICS_PORT, host })}/metrics`)
    }
    if (config.DATABASE_URL === undefined) {
      const keys = keyStore(database)
      const key = (await keys.list()).length === 0 ? await keys.create('first') : undefined
      console.log(welcome(url.replace('[::]', 'localhost'), contract.basePath, key))
    }
    return async () => {
      const late = new Error('shutdown timed out: the database did not finish within SHUTDOWN_TIMEOUT')
      setTimeout(() => fail(late), SHUTDOWN_DELAY + SHUTDOWN_TIMEOUT + databaseGrace).unref()
      logger.info('stopping')
      app.isDraining = true
      await sleep(SHUTDOWN_DELAY)
      await Promise.all([app.close(), metrics.close()])
      await database.close()
      logger.info('stopped')
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Throws when another process listens on the port of the variable. */
async function rejectUsedPort(variable: 'PORT' | 'METRICS_PORT', config: Config): Promise<void> {
  const port = config[variable]
  if (port === undefined) return
  const server = createServer().listen(port, config.HOST)
  try {
    await once(server, 'listening')
  } catch (error) {
    const isUsed = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    throw isUsed ? new Error(`Port ${port} is in use: set ${variable}`, { cause: error }) : error
  }
  server.close()
  await once(server, 'close')
}

const welcome = (url: string, basePath: string, key: string | undefined) => `
  Docs    ${url}/docs
  Try it  curl ${url}${basePath}/categories -H 'Authorization: Bearer ${key ?? '<API_KEY>'}'

  ${key === undefined ? 'Create a key' : 'This key is shown once. Create another'}: npm run keys -- create --name NAME
`
