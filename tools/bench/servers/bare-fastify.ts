// The ceiling of anything on Fastify: it routes, parses JSON and sends the
// bytes and headers of the first response that it got from the service, without
// a key check or log.
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'

const { PORT, HOST, SERVICE = '' } = process.env

/** Headers that node:http adds itself. */
const automatic = ['connection', 'date', 'keep-alive', 'transfer-encoding']

type Recorded = Awaited<ReturnType<typeof record>>

const recorded = new Map<string, Recorded>()

async function record({ method, url, headers, body }: FastifyRequest) {
  const { authorization = '', 'content-type': type } = headers
  const response = await fetch(new URL(url, SERVICE), {
    method,
    headers: {
      authorization,
      'accept-encoding': 'identity',
      ...(type && { 'content-type': type })
    },
    body: body === undefined ? null : JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status}`)

  return {
    status: response.status,
    headers: Object.fromEntries(
      [...response.headers].filter(([name]) => !automatic.includes(name))
    ),
    body: Buffer.from(await response.arrayBuffer())
  }
}

const send = (reply: FastifyReply, { status, headers, body }: Recorded) =>
  reply.code(status).headers(headers).send(body)

function respond(request: FastifyRequest, reply: FastifyReply) {
  const route = `${request.method} ${request.routeOptions.url}`
  const known = recorded.get(route)
  if (known !== undefined) return send(reply, known)

  return record(request).then((first) => {
    recorded.set(route, first)
    return send(reply, first)
  })
}

const app = Fastify()
app.get('/v1/categories', respond)
app.post('/v1/categories', respond)
app.post('/v1/pets', respond)
app.get('/v1/pets/:petId', respond)
// The tables have other rows from now on.
app.delete('/v1/categories', (_request, reply) => {
  recorded.clear()
  return reply.send()
})
await app.listen({ port: Number(PORT), host: HOST ?? '127.0.0.1' })
