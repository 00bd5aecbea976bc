// Bodies have the types of their schemas, and others are rejected.
import t, { type Test } from 'tap'
import {
  anything,
  int64,
  jsonOf,
  maxInt64,
  range,
  send,
  serve,
  show
} from './serve.ts'

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
  const create = await servePost(t, {
    type: 'object',
    properties: {
      ratio: { type: 'number', default: 0.5 },
      price: { type: 'number', minimum: 0, maximum: 1e30, nullable: true }
    }
  })

  t.same(await create('{"ratio":12345678901234567890}'), {
    ratio: 12345678901234567000
  })
  t.same(await create('{"price":null}'), { ratio: 0.5, price: null })

  const messages = {
    '{"price":-12345678901234567890}': 'body.price must be at least 0',
    [`{"price":1${'0'.repeat(31)}}`]: 'body.price must be at most 1e+30',
    '{"ratio":1e999}': 'body.ratio must be within ±1.7976931348623157e+308'
  }
  for (const [body, message] of Object.entries(messages))
    t.equal(await create(body), message, body.slice(0, 40))
})

t.test('a body may itself be a number', async (t) => {
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
    name: { type: 'string', minLength: 1, maxLength: 3 },
    label: { type: 'string', minLength: 2 },
    text: { type: 'string', pattern: String.raw`^[^\x00]*$` },
    code: { type: 'string', pattern: '^a' },
    tags: { type: 'array', minItems: 1, maxItems: 2 },
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
  '{"level":10}': 'body.level must be an integer from 1 to 9',
  '{"floor":100}': 'body.floor must be a floor',
  '{"count":1.5}': 'body.count must be an integer',
  '{"count":6}': 'body.count must be at most 5',
  '{"count":12345678901234567890}':
    'body.count must be within ±9007199254740991',
  '{"name":1}': 'body.name must be a string',
  '{"name":""}': 'body.name must not be empty',
  '{"name":"long"}': 'body.name must have at most 3 characters',
  '{"label":"x"}': 'body.label must have at least 2 characters',
  '{"text":"a\\u0000"}': 'body.text must not contain NUL (U+0000)',
  '{"code":"b"}': 'body.code must match the pattern ^a',
  '{"tags":[]}': 'body.tags must not be empty',
  '{"tags":[1,2,3]}': 'body.tags must have at most 2 items',
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
