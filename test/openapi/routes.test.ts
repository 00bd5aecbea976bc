import { writeFileSync } from 'node:fs'
import path from 'node:path'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions,
  type onRequestHookHandler
} from 'fastify'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { stubs } from '../../generated/operations.ts'
import { HttpError, sendError } from '../../src/http/errors.ts'
import { readContract } from '../../src/openapi/document.ts'
import { operations } from '../../src/openapi/routes.ts'

const int64 = { type: 'integer', format: 'int64' }
const maxInt64 = 2n ** 63n - 1n
const jsonOf = (schema: object) => ({ content: { 'application/json': { schema } } })
const parameter = (place: string, name: string, schema: object) => ({
  in: place,
  name,
  schema,
  required: place === 'path'
})

/** Returns the response, or throws it. */
type Respond = (request: FastifyRequest, reply: FastifyReply) => unknown

/** The routes of a document with these paths, whose operations all have this handler. */
async function serve(t: Test, paths: object, respond: Respond, rest: object = {}): Promise<FastifyInstance> {
  const file = path.join(t.testdir(), 'openapi.yaml')
  const info = { title: 'Test', version: '1.0.0' }
  writeFileSync(file, stringify({ openapi: '3.0.3', info, servers: [{ url: '/v1' }], paths, ...rest }))
  const contract = readContract(file)
  const handlers = Object.fromEntries(contract.operations.map(({ id }) => [id, respond]))
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  const bearerAuth: onRequestHookHandler = (_request, _reply, done) => done(new HttpError(401, 'unauthorized', 'x'))
  await app.register(operations, { contract, handlers, schemes: { bearerAuth } })
  return app
}

const anything = { 200: { description: 'OK', ...jsonOf({ type: 'object', additionalProperties: { type: 'string' } }) } }

/** The value that the handler got, with each bigint as text with an n, or the message of the error. */
function sender(app: FastifyInstance) {
  return async (request: InjectOptions): Promise<unknown> => {
    const response = await app.inject(request)
    const { value, message } = response.json<{ value?: string; message?: string }>()
    return value === undefined ? message : (JSON.parse(value) as unknown)
  }
}
const show = (value: unknown) => ({
  value: JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? `${one}n` : one))
})

t.test('parameters get the type of their schema, and an int64 is exact', async (t) => {
  const getThing = {
    operationId: 'getThing',
    parameters: [
      parameter('path', 'id', int64),
      parameter('query', 'limit', { type: 'integer', minimum: 1, default: 10 }),
      parameter('query', 'ratio', { type: 'number' }),
      parameter('query', 'deep', { type: 'boolean' }),
      parameter('query', 'tags', { type: 'array', items: { type: 'integer' } }),
      parameter('query', 'names', { type: 'array' }),
      parameter('query', 'after', int64),
      parameter('query', 'text', { type: 'string' }),
      parameter('header', 'X-Shard', { type: 'integer' })
    ],
    responses: anything
  }
  const app = await serve(t, { '/things/{id}': { get: getThing } }, ({ params, query, headers }) =>
    show({ ...(params as object), ...(query as object), shard: headers['x-shard'] })
  )
  const send = sender(app)
  const get = (url: string, headers = {}) => send({ url: `/v1/things/${url}`, headers })

  t.same(await get(`${maxInt64}?limit=5&ratio=1.5e3&deep=true&tags=1&tags=2&names=a&after=9007199254740993&text=7`), {
    ...{ id: `${maxInt64}n`, limit: 5, ratio: 1500, deep: true, tags: [1, 2], names: ['a'] },
    ...{ after: '9007199254740993n', text: '7' }
  })
  t.same(await get('-1?tags=3&deep=false', { 'X-SHARD': '5' }), {
    ...{ id: '-1n', limit: 10, deep: false, tags: [3], shard: 5 }
  })
  for (const id of ['1e3', '0x10', '%207', '1.0', 'abc', '9223372036854775808']) {
    t.equal(await get(id), 'path.id must be an integer from -9223372036854775808 to 9223372036854775807', id)
  }
  for (const [query, message] of [
    ['limit=1e1', 'query.limit must be integer'],
    ['limit=0', 'query.limit must be >= 1'],
    ['limit=9007199254740993', 'query.limit must be integer'],
    ['limit=1&limit=2', 'query.limit must be integer'],
    ['ratio=0x1', 'query.ratio must be number'],
    ['deep=1', 'query.deep must be boolean'],
    ['tags=1&tags=b', 'query.tags[1] must be integer']
  ] as const) {
    t.equal(await get(`1?${query}`), message)
  }
  t.equal(await get('1', { 'x-shard': 'x'.repeat(50) }), `header.x-shard must be integer`)
})

t.test('in a body an int64 is exact, defaults are added, and nothing else changes', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      id: { ...int64, nullable: true },
      small: { ...int64, minimum: 1, maximum: 9 },
      ids: { type: 'array', items: { allOf: [int64] } },
      map: { type: 'object', additionalProperties: int64 },
      colour: { type: 'string', enum: ['red', 'blue'], default: 'red', example: 'red' },
      count: { type: 'integer' },
      code: { type: 'string', pattern: '^a' },
      point: { type: 'object', properties: { x: {}, y: {} }, additionalProperties: false }
    }
  }
  const requestBody = { required: true, ...jsonOf(schema) }
  const post = { operationId: 'createThing', requestBody, responses: anything }
  const app = await serve(t, { '/things': { post } }, ({ body }) => show(body))
  const send = sender(app)
  const create = (payload: string) =>
    send({ method: 'POST', url: '/v1/things', headers: { 'content-type': 'application/json' }, payload })

  t.same(await create(`{"id":${maxInt64},"ids":[1,9007199254740993],"map":{"a":2},"other":"1"}`), {
    ...{ id: `${maxInt64}n`, ids: ['1n', '9007199254740993n'], map: { a: '2n' }, other: '1', colour: 'red' }
  })
  t.same(await create('{"id":null,"small":9}'), { id: null, small: '9n', colour: 'red' })
  const range = 'must be an integer from -9223372036854775808 to 9223372036854775807'
  for (const [body, message] of [
    ['{"id":"1"}', `body.id ${range}`],
    ['{"id":9223372036854775808}', `body.id ${range}`],
    ['{"id":1.5}', `body.id ${range}`],
    ['{"small":0}', 'body.small must be an integer from 1 to 9'],
    ['{"small":10}', 'body.small must be an integer from 1 to 9'],
    ['{"colour":"green"}', 'body.colour must be one of: red, blue'],
    ['{"code":"b"}', 'body.code must match pattern "^a"'],
    ['{"point":{"z":1}}', 'body.point must not have the property "z"; it may have: x, y'],
    ['{"count":12345678901234567890}', 'body.count must be integer'],
    ['{"count":"1","id":"1"}', `body.id ${range}; body.count must be integer`]
  ] as const) {
    t.equal(await create(body), message)
  }
  const many = await create(`{"ids":${JSON.stringify(Array(50).fill('x'))}}`)
  t.equal(String(many).split('; ').length, 10, 'a message lists ten errors at most')
})

t.test('a response keeps each int64, also in a schema that contains itself', async (t) => {
  const $ref = '#/components/schemas/Tree'
  const Tree = { type: 'object', properties: { id: int64, children: { type: 'array', items: { $ref } } } }
  const get = { operationId: 'getTree', responses: { 200: { description: 'OK', ...jsonOf({ $ref }) } } }
  const tree = { id: 1n, children: [{ id: maxInt64, children: [] }] }
  const app = await serve(t, { '/tree': { get } }, () => tree, { components: { schemas: { Tree } } })
  t.equal((await app.inject('/v1/tree')).body, `{"id":1,"children":[{"id":${maxInt64},"children":[]}]}`)
})

t.test('an operation is authenticated before its body is read, unless its security is empty', async (t) => {
  const requestBody = { required: true, ...jsonOf({ type: 'object' }) }
  const post = (operationId: string, rest = {}) => ({
    post: { operationId, requestBody, responses: anything, ...rest }
  })
  const paths = { '/closed': post('closed'), '/open': post('open', { security: [] }) }
  const app = await serve(t, paths, () => ({}), { security: [{ bearerAuth: [] }] })
  const status = async (url: string) => (await app.inject({ method: 'POST', url, payload: 'no JSON' })).statusCode
  t.equal(await status('/v1/closed'), 401)
  t.equal(await status('/v1/open'), 400)

  const unknown = { '/unknown': post('unknown', { security: [{ other: [] }] }) }
  const message = 'The security scheme other of unknown has no hook'
  await t.rejects(
    serve(t, unknown, () => ({})),
    { message }
  )
})

t.test('an operation without a handler stops the start, and its stub responds with 501', async (t) => {
  const start = async (handlers: object) => {
    const app = Fastify()
    t.teardown(() => app.close())
    app.setErrorHandler(sendError)
    const schemes = { bearerAuth: (_request: unknown, _reply: unknown, done: () => void) => done() }
    await app.register(operations, { contract: readContract(), handlers, schemes })
    return app
  }
  const { createMessage, ...others } = stubs
  t.type(createMessage, 'function')
  await t.rejects(start(others), {
    message: 'The operation createMessage has no handler: run npm run generate'
  })
  const response = await (await start(stubs)).inject('/v1/categories')
  t.match(response.json(), { code: 'not_implemented', status: 501 })
})

t.test('every response of a deprecated operation announces it', async (t) => {
  const deprecated = { deprecated: true, 'x-deprecated-at': '2023-06-30', 'x-sunset': '2024-01-31T12:00:00+01:00' }
  const replaced = { deprecated: true, 'x-deprecated-sunset': '2024-01-31', 'x-successor': '/new/ones' }
  const get = (operationId: string, rest: object) => ({ get: { operationId, responses: anything, ...rest } })
  const paths = {
    '/closed': get('closed', { ...deprecated, security: [{ bearerAuth: [] }] }),
    '/old/{id}': get('replaced', { ...replaced, parameters: [parameter('path', 'id', int64)] }),
    '/undated': get('undated', { deprecated: true })
  }
  const app = await serve(t, paths, () => ({}))
  for (const [url, deprecation, sunset, link] of [
    ['closed', '@1688083200', 'Wed, 31 Jan 2024 11:00:00 GMT', undefined],
    ['old/1', undefined, 'Wed, 31 Jan 2024 00:00:00 GMT', '<../new/ones>; rel="successor-version"'],
    ['undated', undefined, undefined, undefined]
  ] as const) {
    const { headers } = await app.inject(`/v1/${url}`)
    t.same([headers['deprecation'], headers['sunset'], headers['link']], [deprecation, sunset, link], url)
  }
})
