// The headers that announce the end of an operation.
import type {
  FastifyReply,
  FastifyRequest,
  LightMyRequestResponse
} from 'fastify'
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

const deprecations = [
  {
    path: '/old',
    operation: {
      'x-deprecated-at': '2023-06-30',
      'x-scopes': ['things:read'],
      security: [{ bearerAuth: [] }]
    },
    announced: {
      deprecation: '@1688083200',
      sunset: undefined,
      link: undefined
    }
  },
  {
    path: '/very/old',
    operation: {
      'x-sunset': '2024-01-31T12:00:00+01:00',
      'x-successor': '/new/ones'
    },
    announced: {
      deprecation: undefined,
      sunset: 'Wed, 31 Jan 2024 11:00:00 GMT',
      link: '<../new/ones>; rel="successor-version"'
    }
  }
]

const old = {
  operationId: 'old',
  deprecated: true,
  responses: {
    200: announcing('Deprecation', 'Sunset', 'Link'),
    400: { $ref: '#/components/responses/Invalid' },
    404: { $ref: '#/components/responses/Missing' }
  }
}

const components = {
  responses: { Invalid: announcing('X-Other'), Missing: announcing('Sunset') }
}

/** The headers of a deprecation. */
const announcedBy = ({ headers }: LightMyRequestResponse) => {
  const { deprecation, sunset, link } = headers
  return { deprecation, sunset, link }
}

const unannounced = {
  deprecation: undefined,
  sunset: undefined,
  link: undefined
}

t.test(
  'a response of a deprecated operation has its dates and successor',
  async (t) => {
    for (const { path, operation, announced } of deprecations) {
      const get = { ...old, ...operation }
      const respond = ({ headers }: FastifyRequest) => {
        if (headers['x-missing']) throw notFound('thing', 1n)
        return {}
      }
      const app = await serve(t, { [path]: { get } }, respond, { components })
      const getOld = (query = '', headers = {}) =>
        app.inject({
          url: `/v1${path}${query}`,
          headers: { authorization: 'x', ...headers }
        })

      t.same(announcedBy(await getOld()), announced)
      t.same(announcedBy(await getOld('', { 'x-missing': '1' })), {
        ...unannounced,
        sunset: announced.sunset
      })
      t.same(announcedBy(await getOld('?unknown')), unannounced)
    }
  }
)

t.test('a deprecated page keeps the Link to the next one', async (t) => {
  const get = { ...old, 'x-successor': '/new' }
  const nextPage = '<?cursor=x>; rel="next"'
  const respond = (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('link', nextPage).send({})
  const app = await serve(t, { '/old': { get } }, respond, { components })

  t.equal((await app.inject('/v1/old')).headers.link, nextPage)
})
