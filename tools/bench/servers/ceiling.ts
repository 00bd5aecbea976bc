// The ceiling: this service as it is, but for handlers that send constant bytes.
import { stubs } from '../../../generated/operations.ts'
import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { readContract } from '../../../src/openapi/contract.ts'
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
  void database
    .read<{ id: bigint; name: string; description: string | null }>({ text: 'SELECT * FROM categories ORDER BY id' })
    .then((rows) => {
      const categories = rows.map(({ id, description, ...rest }) => ({
        id: Number(id),
        ...rest,
        ...(description !== null && { description })
      }))
      list = Buffer.from(JSON.stringify(categories))
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
