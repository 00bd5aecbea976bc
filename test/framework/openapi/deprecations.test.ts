// The headers that announce the end of an operation.
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { notFound } from '../../../src/framework/errors.ts'
import { anything, serve } from './serve.ts'

const old = {
  operationId: 'old',
  deprecated: true,
  'x-deprecated-at': '2023-06-30',
  'x-sunset': '2024-01-31T12:00:00+01:00',
  'x-successor': '/new/ones',
  responses: anything
}

t.test('each response to a valid request has the headers', async (t) => {
  const respond = ({ headers }: FastifyRequest) => {
    if (headers['x-missing']) throw notFound('thing', 1n)
    return {}
  }
  const app = await serve(t, { '/very/old': { get: old } }, respond)
  const announcedBy = async (query = '', headers = {}) => {
    const response = await app.inject({ url: `/v1/very/old${query}`, headers })
    const { deprecation, sunset, link } = response.headers
    return [deprecation, sunset, link]
  }

  const sunset = 'Wed, 31 Jan 2024 11:00:00 GMT'
  const successor = '<../new/ones>; rel="successor-version"'
  for (const headers of [{}, { 'x-missing': '1' }])
    t.same(await announcedBy('', headers), ['@1688083200', sunset, successor])
  t.same(await announcedBy('?unknown'), [undefined, undefined, undefined])
})

t.test('a deprecated page keeps the Link to the next one', async (t) => {
  const nextPage = '<?after=1>; rel="next"'
  const respond = (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('link', nextPage).send({})
  const app = await serve(t, { '/old': { get: old } }, respond)

  t.equal((await app.inject('/v1/old')).headers.link, nextPage)
})
