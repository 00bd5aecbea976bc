// The ceiling of anything on Fastify: it routes, parses JSON and sends recorded
// responses, without a key check or log.
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { responses } from './recording.ts'

const app = Fastify()
const handler = ({ method }: FastifyRequest, reply: FastifyReply) => {
  const { status, headers, body } =
    responses[method === 'POST' ? 'POST' : 'GET']
  return reply.code(status).headers(headers).send(body)
}
for (const path of ['/v1/categories', '/v1/pets'])
  app.get(path, handler).post(path, handler)
app.get('/v1/pets/:petId', handler)
await app.listen({
  port: Number(process.env['PORT']),
  host: process.env['HOST'] ?? '127.0.0.1'
})
