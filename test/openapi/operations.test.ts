import { writeFileSync } from 'node:fs'
import path from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply, type onRequestAsyncHookHandler } from 'fastify'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { type Operations, stubs } from '../../generated/operations.ts'
import { type Contract, readContract } from '../../src/openapi/document.ts'
import { HttpError, sendError } from '../../src/http/errors.ts'
import { operations } from '../../src/openapi/routes.ts'
import { validatorCompiler } from '../../src/openapi/validation.ts'

const success = {
  '200': {
    description: 'Success',
    content: { 'application/json': { schema: { type: 'object', additionalProperties: { type: 'string' } } } }
  }
}

/** The contract of a document with the given paths, and whatever else of the top level is given. */
function contractOf(t: Test, paths: object, rest: object = {}): Contract {
  const file = path.join(t.testdir(), 'openapi.yaml')
  const info = { title: 'Test', version: '1.0.0' }
  writeFileSync(file, stringify({ openapi: '3.0.3', info, servers: [{ url: '/v1' }], security: [], paths, ...rest }))
  return readContract(file)
}

type AnyHandler = (request: { params: unknown; query: unknown; headers: unknown; body: unknown }) => unknown

/** The routes of a document; each operation answers with what `echo` gives of the request, bigints as text with an n. */
async function routes(
  t: Test,
  contract: Contract,
  echo: AnyHandler,
  schemes: Record<string, onRequestAsyncHookHandler> = {}
): Promise<FastifyInstance> {
  const app = Fastify({ routerOptions: { maxParamLength: 1000 } })
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  const show = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)
  const handler: AnyHandler = (request) => ({ seen: JSON.stringify(echo(request), show) })
  const handlers = Object.fromEntries(contract.operations.map(({ id }) => [id, handler]))
  await app.register(operations, { contract, handlers: handlers as unknown as Operations, schemes })
  return app
}

const int64 = { type: 'integer', format: 'int64' }

/** What the handler saw, or else the message of the refusal. */
function outcome(body: string): string {
  const { seen, message } = JSON.parse(body) as { seen?: string; message?: string }
  return String(seen ?? message)
}

const parameter = (place: string, name: string, schema: object, required = place === 'path') => ({
  in: place,
  name,
  schema,
  required
})

t.test('path, query and header parameters take the type of their schema, and an int64 is never rounded', async (t) => {
  const contract = contractOf(t, {
    '/things/{id}': {
      parameters: [
        parameter('path', 'id', { type: 'integer', format: 'int64' }),
        parameter('header', 'X-Shared', { type: 'integer' })
      ],
      get: {
        operationId: 'getThing',
        parameters: [
          parameter('query', 'limit', { type: 'integer', minimum: 1, default: 10 }),
          parameter('query', 'ratio', { type: 'number' }),
          parameter('query', 'deep', { type: 'boolean' }),
          parameter('query', 'tags', { type: 'array', items: { type: 'integer' } }),
          parameter('query', 'after', { type: 'integer', format: 'int64', default: 0 }),
          parameter('query', 'text', { type: 'string' }),
          parameter('query', 'any', {}),
          parameter('query', 'day', { type: 'string', format: 'date' }),
          parameter('header', 'X-Ids', { type: 'array', items: { type: 'integer', format: 'int64' } })
        ],
        responses: success
      }
    }
  })
  const app = await routes(t, contract, ({ params, query, headers }) => {
    const { 'x-ids': ids, 'x-shared': shared } = headers as Record<string, unknown>
    return { params, query, ids, shared }
  })
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, body } = await app.inject({ url: `/v1/things/${url}`, headers })
    return statusCode === 200 ? (JSON.parse(outcome(body)) as unknown) : outcome(body)
  }

  t.same(
    await get('9223372036854775807?limit=5&ratio=1.5e3&deep=true&tags=1&tags=2&after=9007199254740993&text=7&any=8'),
    {
      params: { id: '9223372036854775807n' },
      query: { limit: 5, ratio: 1500, deep: true, tags: [1, 2], after: '9007199254740993n', text: '7', any: '8' }
    }
  )
  t.same(await get('-1?tags=3&deep=false', { 'x-ids': '9007199254740993, 2', 'x-shared': '5' }), {
    params: { id: '-1n' },
    query: { limit: 10, deep: false, tags: [3], after: '0n' },
    ids: ['9007199254740993n', '2n'],
    shared: 5
  })
  for (const id of ['1e3', '0x10', '%207', '1.0', 'abc', '9223372036854775808', '1'.repeat(300)]) {
    t.equal(await get(id), 'path.id must be a whole number of 64 bits', id)
  }
  t.equal(await get('1?day=today'), 'query.day must match format "date"')
  t.equal(await get('1?limit=1e1'), 'query.limit must be an integer, not "1e1"')
  t.equal(await get('1?limit=0'), 'query.limit must be >= 1')
  t.equal(
    await get('1?limit=9007199254740993'),
    'query.limit must be within ±9007199254740991: beyond, it could not be kept exactly'
  )
  t.equal(await get('1?limit=1&limit=2'), 'query.limit must be an integer, not an array')
  t.equal(await get('1?ratio=0x1'), 'query.ratio must be a number, not "0x1"')
  t.equal(await get('1?deep=1'), 'query.deep must be a boolean, not "1"')
  t.equal(await get('1?tags=1&tags=b'), 'query.tags[1] must be an integer, not "b"')
  t.equal(
    await get('1', { 'x-shared': 'x'.repeat(50) }),
    `header.x-shared must be an integer, not "${'x'.repeat(40)}…"`
  )
})

t.test('each operation of a path has its shared parameters, also by reference', async (t) => {
  const contract = contractOf(
    t,
    {
      '/things/{id}': {
        parameters: [{ $ref: '#/components/parameters/Id' }],
        get: { operationId: 'getThing', responses: success },
        put: { operationId: 'putThing', responses: success },
        delete: { operationId: 'deleteThing', responses: success }
      }
    },
    { components: { parameters: { Id: parameter('path', 'id', { type: 'integer', format: 'int64' }) } } }
  )
  const app = await routes(t, contract, ({ params }) => params)
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const { body } = await app.inject({ method, url: '/v1/things/9007199254740993' })
    t.equal(body, JSON.stringify({ seen: '{"id":"9007199254740993n"}' }), method)
    t.equal((await app.inject({ method, url: '/v1/things/x' })).statusCode, 400, method)
  }
})

t.test('a required header is found whatever the case of its name in the document', async (t) => {
  const contract = contractOf(t, {
    '/things': {
      get: {
        operationId: 'listThings',
        parameters: [parameter('header', 'X-Tenant', { type: 'string' }, true)],
        responses: success
      }
    }
  })
  const app = await routes(t, contract, () => true)
  t.equal((await app.inject({ url: '/v1/things', headers: { 'X-TENANT': 'a' } })).statusCode, 200)
  const { message } = (await app.inject('/v1/things')).json<{ message: string }>()
  t.equal(message, 'header must have the property "x-tenant"')
})

t.test('an int64 in a body is exact, and its rules hold', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      id: { ...int64, nullable: true },
      small: { ...int64, minimum: 1, maximum: 9, multipleOf: 2 },
      between: { ...int64, minimum: 0, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: true },
      closed: { ...int64, minimum: 0, exclusiveMinimum: false },
      one: { ...int64, enum: [1, 2] },
      list: { type: 'array', items: { allOf: [int64] } },
      map: { type: 'object', additionalProperties: int64 },
      colour: { type: 'string', enum: ['red', 'blue'], default: 'red', example: 'red' },
      plain: { type: 'integer' }
    }
  }
  const contract = contractOf(t, {
    '/things': {
      post: {
        operationId: 'createThing',
        requestBody: { required: true, content: { 'application/json': { schema } } },
        responses: success
      }
    }
  })
  const app = await routes(t, contract, ({ body }) => body)
  const post = async (payload: string) => {
    const { body } = await app.inject({
      method: 'POST',
      url: '/v1/things',
      headers: { 'content-type': 'application/json' },
      payload
    })
    return outcome(body)
  }
  const colour = '"colour":"red"'
  t.equal(await post('{"id":9007199254740993}'), `{"id":"9007199254740993n",${colour}}`)
  t.equal(await post('{"id":null}'), `{"id":null,${colour}}`)
  t.equal(
    await post('{"list":[1,9223372036854775807],"map":{"a":2}}'),
    `{"list":["1n","9223372036854775807n"],"map":{"a":"2n"},${colour}}`
  )
  t.equal(
    await post('{"small":4,"between":1,"closed":0,"one":2}'),
    `{"small":"4n","between":"1n","closed":"0n","one":"2n",${colour}}`
  )
  t.equal(await post('{"id":"1"}'), 'body.id must be a whole number of 64 bits')
  t.equal(await post('{"id":9223372036854775808}'), 'body.id must be a whole number of 64 bits')
  t.equal(await post('{"id":1.5}'), 'body.id must be a whole number of 64 bits')
  t.equal(await post('{"small":0}'), 'body.small must be >= 1')
  t.equal(await post('{"small":10}'), 'body.small must be <= 9')
  t.equal(await post('{"small":3}'), 'body.small must be multiple of 2')
  t.equal(await post('{"between":0}'), 'body.between must be > 0')
  t.equal(await post('{"between":5}'), 'body.between must be < 5')
  t.equal(await post('{"one":3}'), 'body.one must be one of: 1, 2')
  t.equal(await post('{"colour":"green"}'), 'body.colour must be one of: red, blue')
  t.equal(
    await post('{"plain":12345678901234567890}'),
    'body.plain must be within ±9007199254740991: beyond, it could not be kept exactly'
  )
})

t.test('a body that is not required may be left out', async (t) => {
  const contract = contractOf(t, {
    '/things': {
      post: {
        operationId: 'createThing',
        requestBody: { content: { 'application/json': { schema: { type: 'object', required: ['a'] } } } },
        responses: success
      }
    }
  })
  const app = await routes(t, contract, ({ body }) => body ?? 'none')
  const post = async (payload?: object) =>
    (await app.inject({ method: 'POST', url: '/v1/things', ...(payload && { payload }) })).statusCode
  t.equal(await post(), 200)
  t.equal(await post({ a: 1 }), 200)
  t.equal(await post({ b: 1 }), 400)
})

const get = (operationId: string, rest: object = {}) => ({ get: { operationId, responses: success, ...rest } })
const schemes = {
  components: {
    securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' }, other: { type: 'http', scheme: 'basic' } }
  }
}

t.test('the security of the document decides which operations need a key', async (t) => {
  const contract = contractOf(
    t,
    {
      '/closed': get('closed'),
      '/open': get('open', { security: [] }),
      '/optional': get('optional', { security: [{ bearerAuth: [] }, {}] }),
      '/both': get('both', { security: [{ bearerAuth: [], other: [] }] })
    },
    { ...schemes, security: [{ bearerAuth: [] }] }
  )
  const refuse = (scheme: string) => () => Promise.reject(new HttpError(401, 'unauthorized', scheme))
  const app = await routes(t, contract, () => true, { bearerAuth: refuse('bearerAuth'), other: refuse('other') })
  const status = async (url: string) => (await app.inject(`/v1${url}`)).statusCode
  t.equal(await status('/closed'), 401)
  t.equal(await status('/open'), 200)
  t.equal(await status('/optional'), 200)
  const both = await routes(t, contract, () => true, { bearerAuth: () => Promise.resolve(), other: refuse('other') })
  t.equal((await both.inject('/v1/both')).json<{ message: string }>().message, 'other')
})

t.test('a document without a handler for all that it needs stops the start', async (t) => {
  const closed = contractOf(t, { '/a': get('a', { security: [{ other: [] }] }) }, schemes)
  await t.rejects(
    routes(t, closed, () => true, { bearerAuth: () => Promise.resolve() }),
    { message: 'openapi.yaml: GET /a: the security scheme other has no handler' }
  )
  const starts = async (handlers: object) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const contract = contractOf(t, { '/a': get('a') })
    await app.register(operations, { contract, handlers: handlers as Operations, schemes: {} })
  }
  await t.rejects(starts({}), { message: 'The operation a has no handler: run npm run generate' })
  await t.rejects(starts({ ...stubs, a: stubs.listCategories }), {
    message: 'The handler listCategories has no operation: run npm run generate'
  })
})

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const name = object({ name: { type: 'string' } })
const largest = 2n ** 63n - 1n

/** The contract of an operation POST /things whose response 201 has the schema. */
function creating(t: Test, schema: object, schemas: object = {}, operation: object = {}): Contract {
  const response = { description: 'Created', content: { 'application/json': { schema } } }
  const responses = { '200': response, '201': response }
  return contractOf(
    t,
    { '/things': { post: { operationId: 'create', responses, ...operation } } },
    { components: { schemas } }
  )
}

const responses: [title: string, schema: object, body: unknown, json: string][] = [
  ['an int64', object({ id: int64 }), { id: largest }, `{"id":${largest}}`],
  ['a nullable int64', object({ id: { ...int64, nullable: true } }), { id: largest }, `{"id":${largest}}`],
  ['null', object({ id: { ...int64, nullable: true } }), { id: null }, '{"id":null}'],
  ['items', { type: 'array', items: { ...int64, nullable: true } }, [largest, null], `[${largest},null]`],
  ['additional properties', object({}, { additionalProperties: int64 }), { a: largest }, `{"a":${largest}}`],
  [
    'additional properties, null',
    object({}, { additionalProperties: { ...int64, nullable: true } }),
    { a: null },
    '{"a":null}'
  ],
  ['enum', object({ id: { ...int64, enum: [1, 2] } }), { id: 2n }, '{"id":2}'],
  [
    'not',
    object({ id: { ...int64, not: { enum: [0] } } }, { not: { required: ['x'] } }),
    { id: largest },
    `{"id":${largest}}`
  ],
  [
    'allOf',
    { allOf: [object({ id: int64 }), name, { required: ['id', 'name'] }] },
    { id: largest, name: 'x' },
    `{"id":${largest},"name":"x"}`
  ],
  ['allOf of a property', object({ id: { allOf: [int64], nullable: true } }), { id: largest }, `{"id":${largest}}`],
  ['allOf of null', object({ thing: { allOf: [name], nullable: true } }), { thing: null }, '{"thing":null}'],
  [
    'a schema that holds itself',
    { $ref: '#/components/schemas/Tree' },
    { id: 1n, children: [{ id: largest, children: [] }] },
    `{"id":1,"children":[{"id":${largest},"children":[]}]}`
  ]
]

const tree = {
  Tree: object(
    { id: int64, children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
    { required: ['id', 'children'] }
  )
}

t.test('a response keeps each int64 and each property, whatever its schema', async (t) => {
  for (const [title, schema, body, json] of responses) {
    const contract = creating(t, schema, tree)
    const app = Fastify()
    t.teardown(() => app.close())
    const create = (_request: unknown, reply: FastifyReply) => reply.code(201).send(body)
    await app.register(operations, { contract, handlers: { create } as object as Operations, schemes: {} })
    const response = await app.inject({ method: 'POST', url: '/v1/things' })
    t.same([response.statusCode, response.body], [201, json], title)
  }
})

t.test('a response that the serializer could not write is rejected before the start', (t) => {
  const rejected = (schema: object, fault: string) =>
    t.throws(() => creating(t, schema, { Any: { description: 'Anything' } }), {
      message: `openapi.yaml: POST /things: the response 200 ${fault.startsWith('requires') ? fault : `has ${fault}`}`
    })
  for (const keyword of ['oneOf', 'anyOf']) {
    const alternatives = { [keyword]: [object({ id: int64 }, { required: ['id'] }), name] }
    const fault = `${keyword}, with which the serializer loses properties and rejects int64`
    rejected(alternatives, fault)
    rejected(object({ thing: alternatives }), fault)
    rejected({ type: 'array', items: alternatives }, fault)
    rejected({ allOf: [alternatives] }, fault)
  }
  const discriminator = { propertyName: 'kind' }
  rejected(
    object({ kind: { type: 'string' } }, { required: ['kind'], discriminator }),
    'discriminator, with which the serializer loses properties and rejects int64'
  )
  const untyped = 'a value without a type, in which an int64 cannot be serialized'
  for (const schema of [{}, { $ref: '#/components/schemas/Any' }, object({ any: {} }), { type: 'array' }]) {
    rejected(schema, untyped)
  }
  for (const schema of [{ allOf: [{}] }, object({ any: { allOf: [{ description: 'x' }] } }), { enum: [1, 2] }]) {
    rejected(schema, untyped)
  }
  const undeclared = 'requires "extra", which the serializer drops: it is not among the properties'
  for (const schema of [
    object({ id: int64 }, { required: ['id', 'extra'] }),
    { type: 'object', required: ['extra'] },
    { allOf: [object({ id: int64 }), { type: 'object', required: ['extra'] }] },
    { type: 'array', items: object({}, { required: ['extra'] }) }
  ]) {
    rejected(schema, undeclared)
  }
  rejected(object({}, { additionalProperties: true }), untyped)
  t.end()
})

t.test('a discriminator in a request is rejected before the start: the validator ignores it', (t) => {
  const pet = object({ kind: { type: 'string' } }, { required: ['kind'], discriminator: { propertyName: 'kind' } })
  const schema = object({ pets: { type: 'array', items: { oneOf: [pet] } } })
  const requestBody = { content: { 'application/json': { schema } } }
  t.throws(() => creating(t, name, {}, { requestBody }), {
    message: 'openapi.yaml: POST /things: the request body has a discriminator, which the validator ignores'
  })
  t.end()
})

t.test('items that must be unique are compared by value, each looked at once', (t) => {
  const validator = (schema: object) =>
    validatorCompiler()({ schema: schema as Record<string, unknown>, method: 'POST', url: '/', httpPart: 'body' })
  const validate = validator({ type: 'object', properties: { list: { uniqueItems: true } } })
  const outcomeOf = (list: unknown) => {
    const { error } = validate({ list }) as { error?: Error }
    return error?.message ?? 'valid'
  }
  const same = (one: number, other: number) => `body.list must not have the same item twice: [${one}] and [${other}]`
  t.equal(outcomeOf([1, '1', null, 'null', [], {}, [1], ['1'], { a: 1 }, { a: '1' }, 2n ** 60n, true]), 'valid')
  t.equal(outcomeOf('no list'), 'valid', 'a value of another type')
  t.equal(outcomeOf([0, 1, 1]), same(1, 2))
  t.equal(
    outcomeOf([
      { a: 1, b: [{ c: 2, d: 3 }] },
      { b: [{ d: 3, c: 2 }], a: 1 }
    ]),
    same(0, 1)
  )
  t.equal(outcomeOf([2n ** 60n, 2n ** 60n]), same(0, 1))
  const int64s = validator({ type: 'array', items: int64, uniqueItems: true })
  t.match(int64s([1, 1n]), { error: { message: 'body must not have the same item twice: [0] and [1]' } })
  const any = validator({ type: 'array', items: {}, uniqueItems: false })
  t.equal(any([1, 1]), true)

  let reads = 0
  const counted = (id: number) =>
    new Proxy({ id }, { get: (target, key) => (reads++, Reflect.get(target, key) as unknown) })
  t.equal(outcomeOf(Array.from({ length: 1000 }, (_, id) => counted(id))), 'valid')
  t.ok(reads < 10_000, `${reads} reads of 1,000 items`)
  t.end()
})

t.test('the stub of an operation answers 501', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  await app.register(operations, {
    contract: readContract(),
    handlers: stubs,
    schemes: { bearerAuth: () => Promise.resolve() }
  })
  const response = await app.inject('/v1/categories')
  t.equal(response.statusCode, 501)
  t.match(response.json(), { code: 'not_implemented', message: 'The operation listCategories is not implemented yet' })
})
