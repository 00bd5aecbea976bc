// The baseline: Fastify with fastify-openapi-glue on the same OpenAPI document,
// 20 connections, a prepared statement and a line of log for each request, a
// check of the API key without a look-up, and no Idempotency-Keys.
import process from 'node:process'
import bearerAuth from '@fastify/bearer-auth'
import Fastify, { LogController } from 'fastify'
import glue from 'fastify-openapi-glue'
import pg from 'pg'

const { DATABASE_URL, PORT, API_KEY } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 })

const rowsOf = async (name, text, ...values) =>
  (await pool.query({ name, text, values })).rows

const petColumns = 'id, name, category_id AS "categoryId", status'

const handlers = {
  listCategories: () =>
    rowsOf(
      'listCategories',
      'SELECT id, name, description FROM categories ORDER BY id'
    ),

  async createCategory({ body }, reply) {
    const [created] = await rowsOf(
      'createCategory',
      `INSERT INTO categories (name, description)
       VALUES ($1, $2)
       RETURNING id, name, description`,
      body.name,
      body.description
    )
    return reply.code(201).send(created)
  },

  listPets: ({ query }) =>
    rowsOf(
      'listPets',
      `SELECT ${petColumns} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`,
      query.after,
      query.limit
    ),

  async getPet({ params }) {
    const [pet] = await rowsOf(
      'getPet',
      `SELECT ${petColumns} FROM pets WHERE id = $1`,
      params.petId
    )
    return pet
  }
}

const app = Fastify({
  logger: true,
  logController: new LogController({ disableRequestLogging: true }),
  ajv: { customOptions: { strict: false } }
})
app.addHook('onResponse', async ({ method, url, log }, reply) => {
  const { statusCode: status, elapsedTime: ms } = reply
  log.info({ method, url, status, ms }, 'request')
})
await app.register(bearerAuth, { keys: [API_KEY] })
await app.register(glue, {
  specification: 'openapi.yaml',
  prefix: '/v1',
  serviceHandlers: handlers
})
await app.listen({ port: PORT, host: '127.0.0.1' })
