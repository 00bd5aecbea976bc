// Operations of an OpenAPI document: their paths, and what stops the start.
import t from 'tap'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { anything, documentOf, pathWithPost, serve, start } from './serve.ts'

const int64 = { type: 'integer', format: 'int64', enum: [1] }

for (const [fault, rest, message] of [
  [
    'a security scheme without a hook',
    { security: [{ x: [] }] },
    'The security scheme x of createThing has no hook'
  ],
  [
    'an operation that needs an API key but no scope',
    { security: [{ bearerAuth: [] }] },
    'The operation createThing needs an API key, but has no x-scopes'
  ],
  [
    'an operation without an operationId',
    { operationId: undefined },
    'POST /things needs an operationId'
  ],
  [
    'an int64 with an enum',
    { parameters: [{ name: 'x', in: 'query', schema: int64 }] },
    'an int64 cannot have an enum'
  ]
] as const) {
  t.test(`${fault} stops the start`, async (t) => {
    const paths = { '/things': pathWithPost('createThing', rest) }
    const open = async () => (await serve(t, paths, () => ({}))).ready()
    await t.rejects(open, { message })
  })
}

t.test('a file that is not YAML is named in one line', (t) => {
  const file = `${t.testdir({ 'openapi.yaml': 'a: [1' })}/openapi.yaml`
  t.throws(() => readApiDocument(file), {
    message: /openapi\.yaml must be YAML: .*line 1, column \d+:$/
  })
  t.end()
})

t.test('the first path to try is that of a GET without parameters', (t) => {
  const get = { operationId: 'get', responses: anything }
  const examplePath = (paths: object) => documentOf(t, paths).examplePath
  const create = pathWithPost('create')
  const both = { '/things': { ...create, get }, '/others': { get } }
  t.equal(examplePath({ '/things/{id}': { get }, ...both }), '/v1/things')
  t.equal(examplePath({ '/things': create }), '/openapi.json')
  t.same(documentOf(t, {}, { paths: undefined }).operations, [])
  t.end()
})

t.test('operations are served below the server that is a path', (t) => {
  const url = 'https://api.example/v1'
  const servers = [{ url }, { url: '/v2/' }]
  t.equal(documentOf(t, {}, { servers }).basePath, '/v2')
  t.equal(documentOf(t, {}, { servers: undefined }).basePath, '')
  t.end()
})

t.test('an operation without a handler stops the start', async (t) => {
  const paths = { '/things': pathWithPost('createThing') }
  const open = async () => (await start(t, documentOf(t, paths), {})).ready()
  const message = 'The operation createThing has no handler'
  await t.rejects(open, { message })
})
