// First, so that a signal is handled from the beginning.
import { stopping } from './signals.ts'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Logger } from 'pino'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from './app.ts'
import { type Config, loadConfig } from './config.ts'
import { readContract } from './openapi/document.ts'
import { openConfigured } from './postgres/open.ts'
import { rejectSecondService } from './postgres/embedded/running.ts'
import { fail } from './fail.ts'
import { operationHandlers, privileges } from './resources/index.ts'
import { metricsServer } from './http/metrics-endpoint.ts'
import { keyStore } from './api-keys/store.ts'
import { createLogger } from './log.ts'
import { watchProcess } from './metrics.ts'
import { welcome } from './welcome.ts'

/** Milliseconds that the database has after SHUTDOWN_TIMEOUT, when the last connection of a client has been closed. */
const databaseGrace = 1000

interface Service {
  /** Milliseconds that `stop` may take. */
  stopTimeout: number
  stop: () => Promise<void>
}

/** Starts the service and gives the way to stop it, which finishes what is in flight. */
async function start(): Promise<Service> {
  const config = loadConfig(process.env)
  const logger = createLogger(config.LOG_LEVEL)
  const contract = readContract()
  // Before a database is created in vain.
  if (config.DATABASE_URL === undefined) await rejectSecondService(config.DATA_DIR)
  await rejectUsedPort('PORT', config)
  await rejectUsedPort('METRICS_PORT', config)
  const database = await openConfigured(config, 'service', logger, privileges, stopping)
  try {
    const handlers = operationHandlers(database, config)
    const app = await buildApp({ config, contract, database, handlers, logger })
    stopping.throwIfAborted()
    await app.listen({ port: config.PORT, host: config.HOST })
    const metrics = await startMetrics(config, logger)
    if (config.DATABASE_URL === undefined) {
      const keys = keyStore(database)
      const key = (await keys.list()).length === 0 ? await keys.create('first') : undefined
      console.log(welcome(app.server.address() as AddressInfo, contract, key))
    }
    return {
      stopTimeout: config.SHUTDOWN_DELAY + config.SHUTDOWN_TIMEOUT + databaseGrace,
      async stop() {
        logger.info('stopping')
        app.drain()
        await sleep(config.SHUTDOWN_DELAY)
        await Promise.all([app.close(), metrics?.close()])
        await database.close()
        logger.info('stopped')
      }
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Rejects when another process listens on the port that the variable names. */
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

/** Gives Prometheus its own way in, when it has a port. */
async function startMetrics(config: Config, logger: Logger) {
  const { METRICS_PORT: port, HOST: host } = config
  if (port === undefined) return undefined
  watchProcess()
  const app = metricsServer(config, logger)
  logger.info(`metrics at ${await app.listen({ port, host })}/metrics`)
  return app
}

// A full disk behind stdout or stderr must not end the service: the welcome text is lost, and the log tries again.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {})

// A start that a signal has ended did not fail.
const service = start().catch((error: unknown) => (stopping.aborted ? process.exit() : fail(error)))

stopping.addEventListener('abort', () => {
  void service.then(({ stop, stopTimeout }) => {
    setTimeout(() => fail(new Error('shutdown took longer than SHUTDOWN_TIMEOUT')), stopTimeout).unref()
    stop().catch(fail)
  })
})
