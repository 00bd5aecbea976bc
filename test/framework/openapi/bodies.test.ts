// Bodies have the types of their schemas, and others are rejected.
import t, { type Test } from 'tap'
import {
  int64,
  jsonOf,
  maxInt64,
  pathWithPost,
  range,
  send,
  serve,
  show
} from './serve.ts'

/** Serves POST /v1/things, and returns a function that sends it a body. */
async function servePost(t: Test, schema: object) {
  const requestBody = { required: true, ...jsonOf(schema) }
  const app = await serve(
    t,
    { '/things': pathWithPost('createThing', { requestBody }) },
    ({ body }) => show(body),
    { openapi: '3.1.0' }
  )

  return (payload: string) =>
    send(app, {
      method: 'POST',
      url: '/v1/things',
      headers: { 'content-type': 'application/json' },
      payload
    })
}

t.test(
  'in a body an int64 is exact, defaults are added, and nothing else changes',
  async (t) => {
    const create = await servePost(t, {
      type: 'object',
      properties: {
        id: { ...int64, type: ['integer', 'null'] },
        ids: { type: 'array', items: { allOf: [int64] } },
        map: { type: 'object', additionalProperties: int64 },
        note: { type: ['string', 'null'], default: null },
        color: { type: 'string', default: 'red', example: 'red' },
        level: { ...int64, default: 7 }
      }
    })

    const defaults = { note: null, color: 'red', level: '7n' }
    const bodies = {
      '{"ids":[1,9007199254740993],"map":{"a":2},"other":"1"}': {
        ids: ['1n', '9007199254740993n'],
        map: { a: '2n' },
        other: '1'
      },
      [`{"id":${maxInt64}}`]: { id: `${maxInt64}n` },
      '{"id":null}': { id: null }
    }
    for (const [body, received] of Object.entries(bodies))
      t.same(await create(body), { ...defaults, ...received }, body)

    for (const id of ['"1"', '9223372036854775808', '1.5'])
      t.equal(await create(`{"id":${id}}`), `body.id ${range}`, id)
  }
)

/** A property for each rule. */
const rules = {
  type: 'object',
  properties: {
    level: { ...int64, minimum: 1, maximum: 9 },
    floor: { ...int64, maximum: 99, 'x-must': 'be a floor' },
    price: { type: 'number' },
    names: { type: 'array', items: { type: 'string', minLength: 1 } },
    color: { type: 'string', enum: ['red', 'blue'] },
    kind: { type: 'string', const: 'card' },
    at: { type: 'string', format: 'date-time' },
    point: {
      type: 'object',
      properties: { x: {}, y: {} },
      additionalProperties: false
    }
  }
}

const messagesByBody = {
  '{"level":1.0000000000000000000001}':
    'The body must be JSON in UTF-8: it has a number with too many digits',
  '{"point":{"x":-1e400}}':
    'The body must be JSON in UTF-8: it has a number with too many digits',
  '{"level":10}': 'body.level must be an integer from 1 to 9',
  '{"floor":100}': 'body.floor must be a floor',
  '{"price":12345678901234567890}':
    'body.price must be within ±9007199254740991',
  '{"names":["a",""]}': 'body.names.1 must NOT have fewer than 1 characters',
  '{"color":null}':
    'body.color must be string, not null: leave it out if it is optional; body.color must be one of: red, blue',
  '{"kind":"cash"}': 'body.kind must be card',
  '{"point":{"x":1,"z":1}}': 'body.point must not have "z"; it may have x, y',
  '{"price":"1","at":"today"}':
    'body.price must be number; body.at must match format "date-time"'
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

t.test('operations may have the same recursive body', async (t) => {
  const $ref = '#/components/schemas/Tree'
  const Tree = { type: 'object', properties: { child: { $ref } } }
  const requestBody = { required: true, ...jsonOf({ $ref }) }
  const paths = {
    '/trees': pathWithPost('createTree', { requestBody }),
    '/woods': pathWithPost('createWood', { requestBody })
  }
  const rest = { components: { schemas: { Tree } } }
  const app = await serve(t, paths, ({ body }) => show(body), rest)
  const payload = { child: { child: 1 } }
  const message = await send(app, { method: 'POST', url: '/v1/woods', payload })
  t.equal(message, 'body.child.child must be object')
})

t.test('a response may have an int64 or null', async (t) => {
  const id = { ...int64, type: ['integer', 'null'] }
  const schema = { type: 'object', properties: { id, other: id } }
  const get = {
    operationId: 'get',
    responses: { 200: { description: 'OK', ...jsonOf(schema) } }
  }
  const respond = () => ({ id: maxInt64, other: null })
  const rest = { openapi: '3.1.0' }
  const app = await serve(t, { '/things': { get } }, respond, rest)
  const { body } = await app.inject('/v1/things')
  t.equal(body, `{"id":${maxInt64},"other":null}`)
})
