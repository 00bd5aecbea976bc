import path from 'node:path'
import Fastify, {
  type FastifyInstance,
  type FastifyRequest,
  type InjectOptions,
  type onRequestHookHandler
} from 'fastify'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { stubs } from '../../generated/operations.ts'
import { HttpError, sendError } from '../../src/http/errors.ts'
import { type Contract, readContract } from '../../src/openapi/document.ts'
import { operations } from '../../src/openapi/routes.ts'

const int64 = { type: 'integer', format: 'int64' }
const maxInt64 = 2n ** 63n - 1n
const range =
  'must be an integer from -9223372036854775808 to 9223372036854775807'
const jsonOf = (schema: object) => ({
  content: { 'application/json': { schema } }
})
const parameter = (place: string, name: string, schema: object) => ({
  in: place,
  name,
  schema,
  required: place === 'path'
})

/** Rejects requests without the header Authorization. */
const bearerAuth: onRequestHookHandler = ({ headers }, _reply, done) =>
  done(
    headers.authorization === undefined
      ? new HttpError(401, 'unauthorized', 'x')
      : undefined
  )

async function start(
  t: Test,
  contract: Contract,
  handlers: object
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  await app.register(operations, {
    contract,
    handlers,
    schemes: { bearerAuth }
  })
  return app
}

/** The routes of a document with these paths, whose operations all have this handler. */
function serve(
  t: Test,
  paths: object,
  respond: (request: FastifyRequest) => unknown,
  rest: object = {}
): Promise<FastifyInstance> {
  const info = { title: 'Test', version: '1.0.0' }
  const yaml = stringify({
    openapi: '3.0.3',
    info,
    servers: [{ url: '/v1' }],
    paths,
    ...rest
  })
  const contract = readContract(
    path.join(t.testdir({ 'openapi.yaml': yaml }), 'openapi.yaml')
  )
  return start(
    t,
    contract,
    Object.fromEntries(contract.operations.map(({ id }) => [id, respond]))
  )
}

const anything = {
  200: {
    description: 'OK',
    ...jsonOf({ type: 'object', additionalProperties: { type: 'string' } })
  }
}

/** A response that shows a value, with an n behind each bigint. */
const show = (value: unknown) => ({
  value: JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? `${one}n` : one
  )
})

/** Returns the value that the handler has shown, or the message of the error. */
async function send(
  app: FastifyInstance,
  request: InjectOptions
): Promise<unknown> {
  const { value, message } = (await app.inject(request)).json<{
    value?: string
    message?: string
  }>()
  return value === undefined ? message : (JSON.parse(value) as unknown)
}

t.test(
  'parameters get the type of their schema, and an int64 is exact',
  async (t) => {
    const getThing = {
      operationId: 'getThing',
      parameters: [
        parameter('path', 'id', int64),
        parameter('query', 'limit', {
          type: 'integer',
          minimum: 1,
          default: 10
        }),
        parameter('query', 'ratio', { type: 'number' }),
        parameter('query', 'deep', { type: 'boolean' }),
        parameter('query', 'tags', {
          type: 'array',
          items: { type: 'integer' }
        }),
        parameter('query', 'names', { type: 'array' }),
        parameter('query', 'after', int64),
        parameter('query', 'text', { type: 'string' }),
        parameter('header', 'X-Shard', { type: 'integer' })
      ],
      responses: anything
    }
    const app = await serve(
      t,
      { '/things/{id}': { get: getThing } },
      ({ params, query, headers }) =>
        show({
          ...(params as object),
          ...(query as object),
          shard: headers['x-shard']
        })
    )
    const numbers = { limit: 5, ratio: 1500, deep: true, tags: [1, 2] }
    for (const [url, expected, shard] of [
      [
        '1?limit=5&ratio=1.5e3&deep=true&tags=1&tags=2&names=a&text=7',
        { id: '1n', ...numbers, names: ['a'], text: '7' }
      ],
      [
        '-1?tags=3&deep=false',
        { id: '-1n', limit: 10, deep: false, tags: [3], shard: 5 },
        '5'
      ],
      [
        `${maxInt64}?after=9007199254740993`,
        { id: `${maxInt64}n`, limit: 10, after: '9007199254740993n' }
      ],
      ...['1e3', '0x10', '%207', '1.0', 'abc', '9223372036854775808'].map(
        (id) => [id, `path.id ${range}`] as const
      ),
      ['1?limit=1e1', 'query.limit must be integer'],
      ['1?limit=0', 'query.limit must be >= 1'],
      [
        '1?limit=9007199254740993',
        'query.limit must be within ±9007199254740991'
      ],
      ['1?limit=1&limit=2', 'query.limit must be integer'],
      ['1?ratio=0x1', 'query.ratio must be number'],
      ['1?deep=1', 'query.deep must be boolean'],
      ['1?tags=1&tags=b', 'query.tags[1] must be integer'],
      ['1', 'header.x-shard must be integer', 'x']
    ] as const) {
      const headers = { ...(shard && { 'X-SHARD': shard }) }
      t.same(
        await send(app, { url: `/v1/things/${url}`, headers }),
        expected,
        url
      )
    }
  }
)

t.test(
  'in a body an int64 is exact, defaults are added, and nothing else changes',
  async (t) => {
    const schema = {
      type: 'object',
      properties: {
        id: { ...int64, nullable: true },
        small: { ...int64, minimum: 1, maximum: 9 },
        ids: { type: 'array', items: { allOf: [int64] } },
        map: { type: 'object', additionalProperties: int64 },
        color: {
          type: 'string',
          enum: ['red', 'blue'],
          default: 'red',
          example: 'red'
        },
        count: { type: 'integer' },
        code: { type: 'string', pattern: '^a' },
        point: {
          type: 'object',
          properties: { x: {}, y: {} },
          additionalProperties: false
        }
      }
    }
    const post = {
      operationId: 'createThing',
      requestBody: { required: true, ...jsonOf(schema) },
      responses: anything
    }
    const app = await serve(t, { '/things': { post } }, ({ body }) =>
      show(body)
    )
    const headers = { 'content-type': 'application/json' }
    const create = (payload: string) =>
      send(app, { method: 'POST', url: '/v1/things', headers, payload })

    const ids = { ids: ['1n', '9007199254740993n'], map: { a: '2n' } }
    for (const [body, expected] of [
      [
        `{"ids":[1,9007199254740993],"map":{"a":2},"other":"1"}`,
        { ...ids, other: '1', color: 'red' }
      ],
      [
        `{"id":${maxInt64},"small":1}`,
        { id: `${maxInt64}n`, small: '1n', color: 'red' }
      ],
      ['{"id":null,"small":9}', { id: null, small: '9n', color: 'red' }],
      ['{"id":"1"}', `body.id ${range}`],
      ['{"id":9223372036854775808}', `body.id ${range}`],
      ['{"id":1.5}', `body.id ${range}`],
      ['{"small":0}', 'body.small must be an integer from 1 to 9'],
      ['{"small":10}', 'body.small must be an integer from 1 to 9'],
      ['{"color":"green"}', 'body.color must be one of: red, blue'],
      ['{"code":"b"}', 'body.code must match pattern "^a"'],
      [
        '{"point":{"z":1}}',
        'body.point must not have the property "z"; it may have: x, y'
      ],
      [
        '{"count":12345678901234567890}',
        'body.count must be within ±9007199254740991'
      ],
      ['{"count":"1","id":"1"}', `body.id ${range}; body.count must be integer`]
    ] as const) {
      t.same(await create(body), expected, body)
    }
    const many = await create(`{"ids":${JSON.stringify(Array(50).fill('x'))}}`)
    t.equal(
      String(many).split('; ').length,
      10,
      'a message lists ten errors at most'
    )
  }
)

t.test(
  'a response keeps each int64, also in a schema that contains itself',
  async (t) => {
    const $ref = '#/components/schemas/Tree'
    const Tree = {
      type: 'object',
      properties: { id: int64, children: { type: 'array', items: { $ref } } }
    }
    const get = {
      operationId: 'getTree',
      responses: { 200: { description: 'OK', ...jsonOf({ $ref }) } }
    }
    const tree = { id: 1n, children: [{ id: maxInt64, children: [] }] }
    const app = await serve(t, { '/tree': { get } }, () => tree, {
      components: { schemas: { Tree } }
    })
    t.equal(
      (await app.inject('/v1/tree')).body,
      `{"id":1,"children":[{"id":${maxInt64},"children":[]}]}`
    )
  }
)

t.test(
  'an operation is authenticated before its body is read, unless its security is empty',
  async (t) => {
    const requestBody = { required: true, ...jsonOf({ type: 'object' }) }
    const post = (operationId: string, rest = {}) => ({
      post: { operationId, requestBody, responses: anything, ...rest }
    })
    const paths = {
      '/closed': post('closed'),
      '/open': post('open', { security: [] })
    }
    const app = await serve(t, paths, () => ({}), {
      security: [{ bearerAuth: [] }]
    })
    const status = async (url: string) =>
      (await app.inject({ method: 'POST', url, payload: 'no JSON' })).statusCode
    t.equal(await status('/v1/closed'), 401)
    t.equal(await status('/v1/open'), 400)

    const unknown = serve(
      t,
      { '/unknown': post('unknown', { security: [{ other: [] }] }) },
      () => ({})
    )
    await t.rejects(unknown, {
      message: 'The security scheme other of unknown has no hook'
    })
  }
)

t.test(
  'an operation without a handler stops the start, and its stub responds with 501',
  async (t) => {
    const contract = readContract()
    const others = Object.fromEntries(
      Object.entries(stubs).filter(([id]) => id !== 'createMessage')
    )
    await t.rejects(start(t, contract, others), {
      message:
        'The operation createMessage has no handler: run npm run generate'
    })
    const app = await start(t, contract, stubs)
    const response = await app.inject({
      url: '/v1/categories',
      headers: { authorization: 'x' }
    })
    t.match(response.json(), { code: 'not_implemented', status: 501 })
  }
)

t.test(
  'every response of a deprecated operation announces the dates and successor that it has',
  async (t) => {
    const get = (rest: object) => ({
      get: {
        operationId: 'old',
        deprecated: true,
        responses: anything,
        ...rest
      }
    })
    const sunset = {
      'x-deprecated-sunset': '2024-01-31T12:00:00+01:00',
      'x-successor': '/new/ones'
    }
    for (const [path, operation, expected] of [
      [
        '/old',
        { 'x-deprecated-at': '2023-06-30', security: [{ bearerAuth: [] }] },
        ['@1688083200', undefined, undefined]
      ],
      [
        '/very/old',
        sunset,
        [
          undefined,
          'Wed, 31 Jan 2024 11:00:00 GMT',
          '<../new/ones>; rel="successor-version"'
        ]
      ]
    ] as const) {
      const app = await serve(t, { [path]: get(operation) }, () => ({}))
      const { deprecation, sunset, link } = (await app.inject(`/v1${path}`))
        .headers
      t.same([deprecation, sunset, link], expected)
    }
  }
)
