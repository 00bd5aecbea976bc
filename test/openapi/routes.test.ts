import { join } from 'node:path'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions,
  type LightMyRequestResponse,
  type onRequestHookHandler
} from 'fastify'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { HttpError, notFound, sendError } from '../../src/http/errors.ts'
import {
  type ApiDocument,
  readApiDocument
} from '../../src/openapi/document.ts'
import { operationRoutes } from '../../src/openapi/routes.ts'
import { api as notes } from '../support/notes/api.ts'
import { stubs } from '../support/notes/generated/operations.ts'

const jsonOf = (schema: object) => ({
  content: { 'application/json': { schema } }
})

/** The responses of an operation whose handler returns any object. */
const anything = {
  200: {
    description: 'OK',
    ...jsonOf({ type: 'object', additionalProperties: { type: 'string' } })
  }
}

/** Rejects requests without the header Authorization. */
const bearerAuth = (): onRequestHookHandler => (request, _reply, done) => {
  const isAdmitted = request.headers.authorization !== undefined
  done(isAdmitted ? undefined : new HttpError(401, 'unauthorized', 'x'))
}

async function start(
  t: Test,
  apiDocument: ApiDocument,
  handlers: object
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  await app.register(operationRoutes, {
    apiDocument,
    handlers,
    securityHooks: { bearerAuth }
  })
  return app
}

/** Reads an OpenAPI document with these paths. */
function documentOf(t: Test, paths: object, rest: object = {}): ApiDocument {
  const yaml = stringify({
    openapi: '3.0.3',
    info: { title: 'Test', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    paths,
    ...rest
  })
  const folder = t.testdir({ 'openapi.yaml': yaml })
  return readApiDocument(join(folder, 'openapi.yaml'))
}

/**
 * Serves an OpenAPI document with these paths, whose operations all have this
 * handler.
 */
function serve(
  t: Test,
  paths: object,
  respond: (request: FastifyRequest, reply: FastifyReply) => unknown,
  rest: object = {}
): Promise<FastifyInstance> {
  const apiDocument = documentOf(t, paths, rest)
  const handlers = apiDocument.operations.map(({ id }) => [id, respond])
  return start(t, apiDocument, Object.fromEntries(handlers) as object)
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
  const response = await app.inject(request)
  const body = response.json<{ value?: string; message?: string }>()
  return body.value === undefined ? body.message : JSON.parse(body.value)
}

/** Serves POST /v1/things, and returns a function that sends it a body. */
async function servePost(t: Test, schema: object) {
  const post = {
    operationId: 'createThing',
    requestBody: { required: true, ...jsonOf(schema) },
    responses: anything
  }

  const app = await serve(t, { '/things': { post } }, ({ body }) => show(body))
  return (payload: string) =>
    send(app, {
      method: 'POST',
      url: '/v1/things',
      headers: { 'content-type': 'application/json' },
      payload
    })
}

const int64 = { type: 'integer', format: 'int64' }
const maxInt64 = 2n ** 63n - 1n
const range =
  'must be an integer from -9223372036854775808 to 9223372036854775807'

/** Serves GET /v1/things/{id}, and returns a function that sends it. */
async function serveParameters(t: Test) {
  const queryParameter = (name: string, schema: object) => ({
    in: 'query',
    name,
    schema
  })

  const get = {
    operationId: 'getThing',
    parameters: [
      { in: 'path', name: 'id', schema: int64, required: true },
      queryParameter('limit', { type: 'integer', minimum: 1, default: 10 }),
      queryParameter('ratio', { type: 'number' }),
      queryParameter('deep', { type: 'boolean' }),
      queryParameter('tags', { type: 'array', items: { type: 'integer' } }),
      queryParameter('names', { type: 'array' }),
      queryParameter('after', int64),
      queryParameter('text', { type: 'string' }),
      { in: 'header', name: 'X-Shard', schema: { type: 'integer' } },
      { in: 'header', name: 'X-Tenant', schema: {}, required: true }
    ],
    responses: anything
  }

  const app = await serve(
    t,
    { '/things/{id}': { get } },
    ({ params, query, headers }) =>
      show({
        ...(params as object),
        ...(query as object),
        shard: headers['x-shard']
      })
  )

  return (url: string, headers: Record<string, string> = { 'X-TENANT': 'x' }) =>
    send(app, { url: `/v1/things/${url}`, headers })
}

t.test(
  'parameters get the type of their schema, and an int64 is exact',
  async (t) => {
    const get = await serveParameters(t)
    t.same(await get('1?limit=5&ratio=1.5e3&deep=true&tags=1&tags=2'), {
      id: '1n',
      limit: 5,
      ratio: 1500,
      deep: true,
      tags: [1, 2]
    })
    t.same(await get('-1?tags=3&deep=false&names=a&text=7'), {
      id: '-1n',
      limit: 10,
      deep: false,
      tags: [3],
      names: ['a'],
      text: '7'
    })
    t.same(await get(`${maxInt64}?after=9007199254740993`), {
      id: `${maxInt64}n`,
      limit: 10,
      after: '9007199254740993n'
    })
    t.same(await get('1', { 'X-TENANT': 'x', 'X-SHARD': '5' }), {
      id: '1n',
      limit: 10,
      shard: 5
    })
  }
)

t.test('a parameter of another type is rejected', async (t) => {
  const get = await serveParameters(t)
  const ids = [
    '1e3',
    '0x10',
    '%207',
    '1.0',
    'abc',
    '9223372036854775808',
    '01',
    '-0',
    '-01',
    '+1'
  ]

  for (const id of ids) t.equal(await get(id), `path.id ${range}`, id)

  const messages = {
    '1?limit=1e1': 'query.limit must be an integer',
    '1?limit=0': 'query.limit must be at least 1',
    '1?limit=9007199254740993': 'query.limit must be within ±9007199254740991',
    '1?limit=05': 'query.limit must be an integer',
    '1?ratio=0x1': 'query.ratio must be a number',
    '1?ratio=01.5': 'query.ratio must be a number',
    '1?ratio=.5': 'query.ratio must be a number',
    '1?deep=1': 'query.deep must be true or false',
    '1?tags=1&tags=b': 'query.tags[1] must be an integer'
  }

  for (const [url, message] of Object.entries(messages))
    t.equal(await get(url), message, url)

  t.equal(
    await get('1', { 'X-TENANT': 'x', 'x-shard': 'x' }),
    'header.x-shard must be an integer'
  )
  t.equal(await get('1', {}), 'header must have the property "x-tenant"')
})

const knownParameters = 'limit, ratio, deep, tags, names, after, text'

t.test('an unknown or repeated query parameter is rejected', async (t) => {
  const get = await serveParameters(t)
  const unknown = (name: string) =>
    `query must not have the parameter "${name}"; ` +
    `it may have: ${knownParameters}`

  const messages = {
    '1?limitt=1': unknown('limitt'),
    '1?Limit=1': unknown('Limit'),
    '1?__proto__=1': unknown('__proto__'),
    '1?a=1&b=%zz': `${unknown('a')}; ${unknown('b')}`,
    '1?limit=1&limit=1': 'query.limit must be sent once',
    '1?text=a&deep=true&deep=true&text=b':
      'query.deep must be sent once; query.text must be sent once'
  }
  for (const [url, message] of Object.entries(messages))
    t.equal(await get(url), message, url)
})

const getThing = { operationId: 'getThing', responses: anything }

t.test(
  'an operation without query parameters allows none, and so does its HEAD',
  async (t) => {
    const app = await serve(t, { '/things': { get: getThing } }, () => ({}))

    for (const url of ['/v1/things', '/v1/things?', '/v1/things?&'])
      t.equal((await app.inject(url)).statusCode, 200, url)

    const request = { url: '/v1/things?id=1' }
    t.equal(
      await send(app, request),
      'query must not have the parameter "id"; it may have none'
    )
    const head = await app.inject({ ...request, method: 'HEAD' })
    t.equal(head.statusCode, 400)
  }
)

t.test(
  'in a body an int64 is exact, defaults are added, and nothing else changes',
  async (t) => {
    const create = await servePost(t, {
      type: 'object',
      properties: {
        id: { ...int64, nullable: true },
        ids: { type: 'array', items: { allOf: [int64] } },
        map: { type: 'object', additionalProperties: int64 },
        version: { ...int64, default: 1 },
        color: { type: 'string', default: 'red', example: 'red' }
      }
    })

    const defaults = { version: '1n', color: 'red' }
    const bodies = [
      {
        sent: '{"ids":[1,9007199254740993],"map":{"a":2},"other":"1"}',
        received: {
          ids: ['1n', '9007199254740993n'],
          map: { a: '2n' },
          other: '1'
        }
      },
      { sent: `{"id":${maxInt64}}`, received: { id: `${maxInt64}n` } },
      { sent: '{"id":null}', received: { id: null } },
      { sent: '{"version":7}', received: { version: '7n' } }
    ]

    for (const { sent, received } of bodies)
      t.same(await create(sent), { ...defaults, ...received }, sent)

    for (const id of ['"1"', '9223372036854775808', '1.5'])
      t.equal(await create(`{"id":${id}}`), `body.id ${range}`, id)
  }
)

t.test('a number may be any JSON number, rounded to a double', async (t) => {
  const number = { type: 'number' }
  const create = await servePost(t, {
    type: 'object',
    properties: {
      ratio: { ...number, default: 0.5 },
      price: { ...number, minimum: 0, maximum: 1e30, nullable: true },
      list: { type: 'array', items: number }
    }
  })

  t.same(await create('{"ratio":12345678901234567890}'), {
    ratio: 12345678901234567000
  })
  t.same(await create('{"list":[1,-9007199254740993,1.5e300],"price":null}'), {
    ratio: 0.5,
    list: [1, -9007199254740992, 1.5e300],
    price: null
  })

  const messages = {
    '{"price":-12345678901234567890}': 'body.price must be at least 0',
    [`{"price":1${'0'.repeat(31)}}`]: 'body.price must be at most 1e+30',
    '{"ratio":"1"}': 'body.ratio must be a number',
    '{"ratio":1e999}': 'body.ratio must be within ±1.7976931348623157e+308',
    [`{"ratio":-1${'0'.repeat(400)}}`]:
      'body.ratio must be within ±1.7976931348623157e+308'
  }
  for (const [body, message] of Object.entries(messages))
    t.equal(await create(body), message, body.slice(0, 40))
})

t.test('a body may itself be a number', async (t) => {
  const toDouble = await servePost(t, { type: 'number' })
  t.same(await toDouble('12345678901234567890'), 12345678901234567000)
  const toBigInt = await servePost(t, int64)
  t.same(await toBigInt('9007199254740993'), '9007199254740993n')
})

/** A property for each rule. */
const rules = {
  type: 'object',
  properties: {
    level: { ...int64, minimum: 1, maximum: 9 },
    floor: { ...int64, maximum: 99, 'x-must': 'be a floor' },
    count: { type: 'integer', maximum: 5 },
    note: { type: 'string', nullable: true },
    name: { type: 'string', minLength: 1, maxLength: 3 },
    label: { type: 'string', minLength: 2 },
    text: { type: 'string', pattern: String.raw`^[^\x00]*$` },
    code: { type: 'string', pattern: '^a' },
    tags: { type: 'array', minItems: 1, maxItems: 2, uniqueItems: true },
    even: { multipleOf: 2 },
    either: { oneOf: [{ type: 'string' }, { type: 'object' }] },
    at: { type: 'string', format: 'date-time' },
    day: { type: 'string', pattern: '^x', 'x-must': 'be a day of the week' },
    color: { type: 'string', enum: ['red', 'blue'] },
    point: {
      type: 'object',
      properties: { x: {}, y: {} },
      required: ['x'],
      additionalProperties: false
    },
    options: { type: 'object', minProperties: 1, maxProperties: 2 },
    'a/b~c': { type: 'string' }
  }
}

const messagesByBody = {
  '{"level":0}': 'body.level must be an integer from 1 to 9',
  '{"level":10}': 'body.level must be an integer from 1 to 9',
  '{"floor":100}': 'body.floor must be a floor',
  '{"count":1.5}': 'body.count must be an integer',
  '{"count":6}': 'body.count must be at most 5',
  '{"count":12345678901234567890}':
    'body.count must be within ±9007199254740991',
  '{"note":1}': 'body.note must be a string',
  '{"name":1}': 'body.name must be a string',
  '{"name":""}': 'body.name must not be empty',
  '{"name":"long"}': 'body.name must have at most 3 characters',
  '{"label":"x"}': 'body.label must have at least 2 characters',
  '{"text":"a\\u0000"}': 'body.text must not contain NUL (U+0000)',
  '{"code":"b"}': 'body.code must match the pattern ^a',
  '{"tags":{}}': 'body.tags must be an array',
  '{"tags":[]}': 'body.tags must not be empty',
  '{"tags":[1,2,3]}': 'body.tags must have at most 2 items',
  '{"tags":[1,1]}': 'body.tags must not contain an item twice',
  '{"even":3}': 'body.even must be a multiple of 2',
  '{"either":[]}':
    'body.either must be a string; body.either must be an object; body.either must match exactly one schema in oneOf',
  '{"at":"today"}': 'body.at must have the format date-time',
  '{"day":"7"}': 'body.day must be a day of the week',
  '{"color":"green"}': 'body.color must be one of: red, blue',
  '{"point":{}}': 'body.point must have the property "x"',
  '{"point":{"x":1,"z":1}}':
    'body.point must not have the property "z"; it may have: x, y',
  '{"options":{}}': 'body.options must not be empty',
  '{"options":{"a":1,"b":2,"c":3}}':
    'body.options must have at most 2 properties',
  '{"a/b~c":1}': 'body.a/b~c must be a string',
  '{"count":"1","name":""}':
    'body.count must be an integer; body.name must not be empty'
}

t.test('a message says what to change', async (t) => {
  const create = await servePost(t, rules)
  for (const [body, message] of Object.entries(messagesByBody))
    t.equal(await create(body), message, body)
})

t.test('a message lists ten errors at most', async (t) => {
  const create = await servePost(t, { type: 'array', items: int64 })
  const message = await create(JSON.stringify(Array(50).fill('x')))
  t.equal(String(message).split('; ').length, 10)
})

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

    const { body } = await app.inject('/v1/tree')
    t.equal(body, `{"id":1,"children":[{"id":${maxInt64},"children":[]}]}`)
  }
)

const post = (operationId: string, rest = {}) => ({
  post: {
    operationId,
    requestBody: { required: true, ...jsonOf({ type: 'object' }) },
    responses: anything,
    ...rest
  }
})

t.test(
  'an operation with security is authenticated before its body is read',
  async (t) => {
    const paths = {
      '/closed': post('closed', { 'x-scopes': ['things:write'] }),
      '/open': post('open', { security: [] })
    }
    const security = [{ bearerAuth: [] }]
    const app = await serve(t, paths, () => ({}), { security })
    const sendText = (url: string) =>
      app.inject({ method: 'POST', url, payload: 'no JSON' })
    t.equal((await sendText('/v1/closed')).statusCode, 401)
    t.equal((await sendText('/v1/open')).statusCode, 400)
  }
)

t.test(
  'a missing body is rejected, with or without a Content-Type',
  async (t) => {
    const paths = { '/things': post('createThing') }
    const app = await serve(t, paths, () => ({}))
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const request = { method: 'POST', url: '/v1/things', headers } as const
      t.equal(await send(app, request), 'body must not be empty')
    }
    const request = { method: 'POST', url: '/v1/things', payload: {} } as const
    t.equal((await app.inject(request)).statusCode, 200)
  }
)

t.test('a security scheme without a hook stops the start', async (t) => {
  const paths = { '/things': post('createThing', { security: [{ x: [] }] }) }
  await t.rejects(
    serve(t, paths, () => ({})),
    { message: 'The security scheme x of createThing has no hook' }
  )
})

t.test(
  'an operation that needs a key but no scope stops the start',
  async (t) => {
    const security = [{ bearerAuth: [] }]
    const paths = { '/things': post('createThing', { security }) }
    await t.rejects(
      serve(t, paths, () => ({})),
      { message: 'The operation createThing needs a key, but has no x-scopes' }
    )
  }
)

t.test('the first path to try is that of a GET without parameters', (t) => {
  const get = { operationId: 'get', responses: anything }
  const firstPath = (paths: object) => documentOf(t, paths).firstPath
  const create = post('create')
  const both = { '/things': { ...create, get }, '/others': { get } }
  t.equal(firstPath({ '/things/{id}': { get }, ...both }), '/v1/things')
  t.equal(firstPath({ '/things': create }), '/openapi.json')
  t.end()
})

const production = { url: 'https://api.example/v1' }

for (const { servers, served } of [
  { servers: [{ url: '/v1' }, production], served: '/v1/things' },
  { servers: [production, { url: '/v1' }], served: '/v1/things' },
  { servers: [{ url: '/v1/' }], served: '/v1/things' },
  { servers: undefined, served: '/things' }
]) {
  t.test(`with ${JSON.stringify(servers)}, ${served} is served`, async (t) => {
    const get = { operationId: 'listThings', responses: anything }
    const paths = { '/things': { get } }
    const app = await serve(t, paths, () => ({}), { servers })
    t.equal((await app.inject(served)).statusCode, 200)
  })
}

t.test('an operation without a handler stops the start', async (t) => {
  const others: Partial<typeof stubs> = { ...stubs }
  delete others.listTags
  await t.rejects(start(t, readApiDocument(notes.openapi), others), {
    message: 'The operation listTags has no handler: run npm run generate'
  })
})

t.test('a stub responds with 501', async (t) => {
  const app = await start(t, readApiDocument(notes.openapi), stubs)
  const headers = { authorization: 'x' }
  const response = await app.inject({ url: '/v1/notes', headers })
  t.match(response.json(), { code: 'not_implemented', status: 501 })
})

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
