// The baseline: Fastify with fastify-openapi-glue on the same OpenAPI document,
// one query per request.
import bearerAuth from '@fastify/bearer-auth'
import Fastify, { type FastifyReply, LogController } from 'fastify'
import glue from 'fastify-openapi-glue'
import { fileURLToPath } from 'node:url'
import { peer } from './peer.ts'

const app = Fastify({
  loggerInstance: peer.logger,
  logController: new LogController({ disableRequestLogging: true }),
  ajv: { customOptions: { strict: false } }
})
app.addHook('onResponse', (request, reply, done) => {
  peer.log(
    request.method,
    request.url,
    reply.raw,
    performance.now() - reply.elapsedTime
  )
  done()
})
await app.register(bearerAuth, {
  keys: new Set<string>(),
  auth: peer.isValidKey
})
await app.register(glue, {
  specification: fileURLToPath(
    new URL('../../../openapi.yaml', import.meta.url)
  ),
  prefix: '/v1',
  serviceHandlers: {
    listCategories: () => peer.list(),
    createCategory: async (
      request: { body: Parameters<typeof peer.create>[0] },
      reply: FastifyReply
    ) => reply.code(201).send(await peer.create(request.body)),
    listPets: async (
      request: { query: Parameters<typeof peer.listPets>[0] },
      reply: FastifyReply
    ) => {
      const { pets, link } = await peer.listPets(request.query)
      if (link !== undefined) reply.header('link', link)
      return reply.send(pets)
    },
    getPet: (request: { params: { petId: number } }) =>
      peer.getPet(request.params.petId),
    createPet: async (
      request: { body: Parameters<typeof peer.createPet>[0] },
      reply: FastifyReply
    ) => reply.code(201).send(await peer.createPet(request.body))
  }
})
await app.listen({ port: peer.port, host: peer.host })
