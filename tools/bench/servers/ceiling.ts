// The ceiling: this service as it is, but for handlers that send constant bytes.
import { stubs } from '../../../generated/operations.ts'
import { buildApp } from '../../../src/app.ts'
import { categoryStore } from '../../../src/resources/categories-store.ts'
import { loadConfig } from '../../../src/config.ts'
import { readContract } from '../../../src/openapi/document.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { createLogger } from '../../../src/log.ts'

const config = loadConfig(process.env)
const logger = createLogger(config.LOG_LEVEL)
const { DATABASE_URL: url = '', DATABASE_POOL_SIZE: poolSize, DATABASE_TIMEOUT: timeout } = config
const database = openDatabase({ url, poolSize, timeout }, logger)

let list = Buffer.from('[]')
// Between measurements the benchmark changes the table, and says so.
process.on('message', (message) => {
  if (message !== 'reload') return
  void categoryStore(database)
    .page(undefined, { rows: 1e6, bytes: 1e9 })
    .then((categories) => {
      list = Buffer.from(
        JSON.stringify(categories, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))
      )
    })
})

const app = await buildApp({
  config,
  contract: readContract(),
  database,
  logger,
  handlers: {
    ...stubs,
    listCategories: (_request, reply) =>
      reply.code(200).header('content-type', 'application/json; charset=utf-8').send(list),
    createCategory: (_request, reply) =>
      reply.code(201).send({ id: 1n, name: 'Rabbit', description: 'Small mammals with long ears' })
  }
})
await app.listen({ port: config.PORT, host: config.HOST })
