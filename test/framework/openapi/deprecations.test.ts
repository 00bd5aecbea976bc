// The headers that announce the end of an operation.
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { notFound } from '../../../src/framework/http/errors.ts'
import { jsonOf, serve } from './serve.ts'

const announcing = (...names: string[]) => ({
  description: 'OK',
  headers: Object.fromEntries(
    names.map((name) => [name, { schema: { type: 'string' } }])
  ),
  ...jsonOf({ type: 'object' })
})

const old = {
  operationId: 'old',
  deprecated: true,
  'x-successor': '/new/ones',
  responses: {
    200: announcing('Deprecation', 'Sunset', 'Link'),
    400: { $ref: '#/components/responses/Invalid' },
    404: announcing('Sunset')
  }
}

const components = { responses: { Invalid: announcing('X-Other') } }

t.test('a response has those headers that it documents', async (t) => {
  const get = {
    ...old,
    'x-deprecated-at': '2023-06-30',
    'x-sunset': '2024-01-31T12:00:00+01:00'
  }
  const respond = ({ headers }: FastifyRequest) => {
    if (headers['x-missing']) throw notFound('thing', 1n)
    return {}
  }
  const app = await serve(t, { '/very/old': { get } }, respond, { components })
  const announcedBy = async (query = '', headers = {}) => {
    const response = await app.inject({ url: `/v1/very/old${query}`, headers })
    const { deprecation, sunset, link } = response.headers
    return [deprecation, sunset, link]
  }

  const sunset = 'Wed, 31 Jan 2024 11:00:00 GMT'
  t.same(await announcedBy(), [
    '@1688083200',
    sunset,
    '<../new/ones>; rel="successor-version"'
  ])
  t.same(await announcedBy('', { 'x-missing': '1' }), [
    undefined,
    sunset,
    undefined
  ])
  t.same(await announcedBy('?unknown'), [undefined, undefined, undefined])
})

t.test('a deprecated page keeps the Link to the next one', async (t) => {
  const nextPage = '<?cursor=x>; rel="next"'
  const respond = (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('link', nextPage).send({})
  const app = await serve(t, { '/old': { get: old } }, respond, { components })

  t.equal((await app.inject('/v1/old')).headers.link, nextPage)
})
