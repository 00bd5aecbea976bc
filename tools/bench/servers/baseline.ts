// The baseline: Fastify with fastify-openapi-glue on the same OpenAPI document,
// one query per request, the logger of this service, and a key check without a
// look-up.
import bearerAuth from '@fastify/bearer-auth'
import Fastify, { type FastifyReply, LogController } from 'fastify'
import glue from 'fastify-openapi-glue'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { apiKeyPrefix } from '../../../generated/names.ts'
import { createLogger } from '../../../src/framework/log.ts'

const { DATABASE_URL, PORT, BENCH_KEY = '' } = process.env
const sha256 = (text: string) =>
  createHash('sha256').update(text).digest('base64')
const keyHash = sha256(BENCH_KEY)
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })

const rowsOf = async (text: string, ...values: unknown[]) =>
  (await pool.query(text, values)).rows as object[]

const handlers = {
  listCategories: () =>
    rowsOf('SELECT id, name, description FROM categories ORDER BY id'),

  async createCategory(
    { body }: { body: { name: string; description?: string } },
    reply: FastifyReply
  ) {
    const [created] = await rowsOf(
      `INSERT INTO categories (name, description)
       VALUES ($1, $2)
       RETURNING id, name, description`,
      body.name,
      body.description
    )
    return reply.code(201).send(created)
  },

  async getPet({ params }: { params: { petId: number } }) {
    const [pet] = await rowsOf(
      `SELECT id, name, category_id AS "categoryId", status
       FROM pets
       WHERE id = $1`,
      params.petId
    )
    return pet
  }
}

const logger = createLogger('info', apiKeyPrefix)
const app = Fastify({
  loggerInstance: logger,
  logController: new LogController({ disableRequestLogging: true }),
  ajv: { customOptions: { strict: false } }
})
app.addHook(
  'onResponse',
  ({ method, url }, { statusCode, elapsedTime }, done) => {
    logger.info(
      { method, path: url, status: statusCode, ms: elapsedTime },
      'request'
    )
    done()
  }
)
await app.register(bearerAuth, {
  keys: new Set<string>(),
  auth: (key: string) => sha256(key) === keyHash
})
await app.register(glue, {
  specification: fileURLToPath(
    new URL('../../../openapi.yaml', import.meta.url)
  ),
  prefix: '/v1',
  serviceHandlers: handlers
})
await app.listen({ port: Number(PORT), host: '127.0.0.1' })
