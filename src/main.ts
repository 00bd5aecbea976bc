import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { loadConfig } from './config.ts'
import { type Contract, readContract } from './contract.ts'
import { openConfigured } from './database/open.ts'
import { fail } from './fail.ts'
import { createFirstKey } from './keys/create.ts'
import { keyStore } from './keys/store.ts'
import { createLogger } from './log.ts'

/** A second signal within this time is taken for the first one: npm and a terminal both pass it on. */
const secondSignalAfter = 1000

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
  const database = await openConfigured(config, { share: false, migrate: config.MIGRATE_ON_START }, logger)
  try {
    const app = await buildApp({ config, contract, database, logger })
    await app.listen({ port: config.PORT, host: config.HOST })
    if (database.isEmbedded) console.log(welcome(app, contract, await createFirstKey(keyStore(database))))
    return {
      stopTimeout: config.SHUTDOWN_TIMEOUT,
      async stop() {
        logger.info('stopping')
        await app.close()
        await database.close()
        logger.info('stopped')
      }
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

function welcome(app: FastifyInstance, { basePath, operations }: Contract, key: string | undefined): string {
  const { address, family, port } = app.server.address() as AddressInfo
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const list = operations.find(({ id }) => id === 'listCategories')?.path
  const note =
    key === undefined
      ? 'Make a key: npm run keys -- create --name NAME'
      : 'This key is shown once. Make another: npm run keys -- create --name NAME'
  return `
  Docs    http://${host}:${port}/docs
  Try it  curl http://${host}:${port}${basePath}${list} -H 'Authorization: Bearer ${key ?? '<API_KEY>'}'

  ${note}
`
}

const service = start().catch(fail)
let stoppingSince: number | undefined

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      void service.then(({ stop, stopTimeout }) => {
        setTimeout(() => fail(new Error('shutdown took longer than SHUTDOWN_TIMEOUT')), stopTimeout).unref()
        stop().catch(fail)
      })
    } else if (performance.now() - stoppingSince >= secondSignalAfter) {
      fail(new Error('stopped at once by a second signal'))
    }
  })
}
