// Parameters have the types of their schemas, and others are rejected.
import t, { type Test } from 'tap'
import { anything, int64, maxInt64, range, send, serve, show } from './serve.ts'

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
    t.match(await get('1', { 'X-TENANT': 'x', 'X-SHARD': '5' }), { shard: 5 })
  }
)

t.test('a parameter of another type is rejected', async (t) => {
  const get = await serveParameters(t)
  for (const id of ['1e3', '9223372036854775808', '01', '-0'])
    t.equal(await get(id), `path.id ${range}`, id)

  const messages = {
    '1?limit=9007199254740993': 'query.limit must be within ±9007199254740991',
    '1?ratio=01.5': 'query.ratio must be number',
    '1?deep=1': 'query.deep must be boolean',
    '1?tags=1&tags=b': 'query.tags.1 must be integer'
  }
  for (const [url, message] of Object.entries(messages))
    t.equal(await get(url), message, url)

  t.equal(
    await get('1', { 'X-TENANT': 'x', 'x-shard': 'x' }),
    'header.x-shard must be integer'
  )
  t.equal(await get('1', {}), 'header must have the parameter "x-tenant"')
})

const knownParameters = 'limit, ratio, deep, tags, names, after, text'

t.test('an unknown or repeated query parameter is rejected', async (t) => {
  const get = await serveParameters(t)
  const unknown = (name: string) =>
    `query must not have "${name}"; it may have ${knownParameters}`

  const messages = {
    '1?limitt=1': unknown('limitt'),
    '1?after=1&after=2': 'query.after must be sent once',
    '1?text=a&text=a': 'query.text must be sent once'
  }
  for (const [url, message] of Object.entries(messages))
    t.equal(await get(url), message, url)
})
