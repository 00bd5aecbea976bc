// The plain way: Fastify with fastify-openapi-glue on the same document, and one query a request.
import bearerAuth from '@fastify/bearer-auth'
import Fastify, { LogController } from 'fastify'
import glue from 'fastify-openapi-glue'
import { readContract } from '../../../src/openapi/document.ts'
import { peer } from './peer.ts'

const { document, basePath } = readContract()
const app = Fastify({
  loggerInstance: peer.logger,
  logController: new LogController({ disableRequestLogging: true }),
  ajv: { customOptions: { strict: false } }
})
app.addHook('onResponse', (request, reply, done) => {
  peer.log(request.method, request.url, reply.raw, performance.now() - reply.elapsedTime)
  done()
})
await app.register(bearerAuth, { keys: new Set<string>(), auth: peer.isValidKey })
await app.register(glue, {
  specification: document,
  prefix: basePath,
  serviceHandlers: {
    listCategories: peer.list,
    createCategory: async (request: { body: { name: string } }, reply: { code: (status: number) => void }) => {
      const category = await peer.create(request.body)
      reply.code(201)
      return category
    }
  }
})
await app.listen({ port: peer.config.PORT, host: peer.config.HOST })
