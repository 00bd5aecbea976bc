import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { readContract } from '../../src/openapi/document.ts'

/** Reads a document that differs from openapi.yaml by what `change` does to it. */
function changed(t: Test, change: (document: Record<string, never>) => void) {
  const document = parse(readFileSync('openapi.yaml', 'utf8')) as Record<string, never>
  change(document)
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, stringify(document))
  return () => readContract(file)
}

const responses = { '204': { description: 'Done' } }
const operation = { operationId: 'a', responses }

/** Checks that a document with these paths is rejected, with this line after the name of the file. */
function rejects(t: Test, paths: object, line: string) {
  t.throws(
    changed(t, (document) => Object.assign(document, { paths })),
    { message: `openapi.yaml: ${line}` },
    line
  )
}

t.test('the contract is the document: its bytes, its operations and the path of its first server', (t) => {
  const { yaml, json, basePath, operations } = readContract()
  t.same(yaml, readFileSync('openapi.yaml'))
  t.same(JSON.parse(json), parse(readFileSync('openapi.yaml', 'utf8')))
  t.equal(basePath, '/v1')
  const common = { path: '/categories', security: ['bearerAuth'], deprecation: {} }
  const ofCategories = operations.filter(({ path }) => path === '/categories')
  t.same(ofCategories, [
    { ...common, id: 'listCategories', method: 'GET', requestBodyRequired: false },
    { ...common, id: 'createCategory', method: 'POST', requestBodyRequired: true }
  ])
  t.end()
})

t.test('an operation that the service could not serve is rejected, with what to change', (t) => {
  const one = (...parameters: object[]) => ({ '/a': { get: { ...operation, parameters } } })
  const q = { in: 'query', name: 'q' }
  const shape = 'must have a schema of a plain value or an array, in the default style'
  const id = 'the operationId must be an identifier'
  rejects(t, { '/a': { get: { responses } } }, `GET /a: ${id}`)
  rejects(t, { '/a': { get: { ...operation, operationId: 'a-b' } } }, `GET /a: ${id}`)
  rejects(t, { '/a': { get: operation, post: operation } }, 'the operationId a is used twice')
  rejects(t, { '/a': { $ref: '#/paths/~1b' }, '/b': { get: operation } }, '/a must not be a $ref')
  for (const path of ['/{a-b}', '/a:b', '/a/*']) {
    rejects(
      t,
      { [path]: { get: operation } },
      `GET ${path}: a path parameter is named with A-Z, a-z, 0-9 and _, and a path has no : and no *`
    )
  }
  const content = { 'application/json': { schema: {} } }
  rejects(t, one({ ...q, content }), `GET /a: the query parameter q ${shape}`)
  rejects(t, one({ ...q, schema: { type: 'object' } }), `GET /a: the query parameter q ${shape}`)
  rejects(t, one({ ...q, schema: {}, explode: false }), `GET /a: the query parameter q ${shape}`)
  rejects(t, one({ ...q, in: 'cookie', schema: {} }), `GET /a: the cookie parameter q ${shape}`)
  const petId = { in: 'path', name: 'petID', required: true, schema: { type: 'string' } }
  rejects(
    t,
    { '/pets/{petId}': { get: { ...operation, parameters: [petId] } } },
    'GET /pets/{petId}: the path has the parameters "petId", the operation declares "petID"'
  )
  rejects(
    t,
    { '/a': { get: { ...operation, security: [{ bearerAuth: [] }, { other: [] }] } } },
    'GET /a: alternative security requirements are not supported'
  )
  const first = 'openapi.yaml: the first server must be a path such as /v1: the deployment that serves the document'
  for (const servers of [[{ url: 'https://host/v1' }], [], undefined]) {
    t.throws(
      changed(t, (document) => Object.assign(document, { servers })),
      { message: first }
    )
  }
  t.end()
})

t.test('a body that is not JSON with a schema is rejected', (t) => {
  const media = (content: object) => ({
    '/a': { post: { ...operation, responses: { '200': { description: 'x', content } } } }
  })
  const rule = 'must have a schema for application/json and no other media type'
  const json = { schema: { type: 'string' } }
  rejects(t, media({ 'text/csv': json }), `POST /a: the response 200 ${rule}`)
  rejects(t, media({ 'application/json': json, 'text/csv': json }), `POST /a: the response 200 ${rule}`)
  rejects(t, media({ 'application/json': {} }), `POST /a: the response 200 ${rule}`)
  rejects(
    t,
    { '/a': { post: { ...operation, requestBody: { content: { 'text/plain': json } } } } },
    `POST /a: the request body ${rule}`
  )
  t.end()
})

t.test('a fault in the structure of the document is one line that names its place', (t) => {
  const name = `GET /a:`
  rejects(t, { '/a': { get: { operationId: 'a' } } }, `${name} must have the property "responses"`)
  rejects(
    t,
    { '/a': { get: { ...operation, responses: {} } } },
    `${name} responses must NOT have fewer than 1 properties`
  )
  rejects(t, { '/a': { get: { ...operation, parameter: [] } } }, `${name} must not have the property "parameter"`)
  rejects(
    t,
    { '/a': { get: { ...operation, parameters: [{ in: 'query', schema: {} }] } } },
    `${name} parameters.0 must have the property "name"`
  )
  rejects(t, { '/a': null }, 'paths./a must be an object, not null')
  const withSchema = (schema: object) => ({
    '/a': {
      get: { ...operation, responses: { '200': { description: 'x', content: { 'application/json': { schema } } } } }
    }
  })
  const schema = 'responses.200.content.application/json.schema'
  rejects(
    t,
    withSchema({ type: 'text' }),
    `${name} ${schema}.type must be one of: array, boolean, integer, number, object, string`
  )
  for (const $ref of ['#/components/schemas/Dog', '#/none/at/all', 'other.yaml#/Dog']) {
    rejects(t, withSchema({ $ref }), `${name} ${schema} has a $ref without a target: ${$ref}`)
  }
  const $ref = '#/components/schemas/NewCategory'
  t.throws(
    changed(t, (document: { components?: { schemas: object } }) =>
      Object.assign(document.components?.schemas ?? {}, { NewCategory: { $ref } })
    ),
    {
      message: `openapi.yaml: POST /categories: requestBody.content.application/json.schema has a $ref that leads back to itself: ${$ref}`
    }
  )
  t.end()
})

t.test('text that is not YAML, or not OpenAPI 3.0, is one line too', (t) => {
  for (const [text, line] of [
    ['', 'must be an object, not null'],
    ['openapi: 3.1.0', 'must have the property "info"'],
    ['openapi: 3.0.3\ninfo:\n\ttitle: x', 'Tabs are not allowed as indentation at line 3, column 1'],
    ['a: 1\na: 2', 'Map keys must be unique at line 2, column 1'],
    ['a: *b', 'Unresolved alias (the anchor must be set before the alias): b'],
    ['a: &a { b: *a }', 'Converting circular structure to JSON']
  ] as const) {
    const file = path.join(t.testdir(), 'openapi.yaml')
    writeFileSync(file, text)
    t.throws(() => readContract(file), { message: `openapi.yaml: ${line}` }, text)
  }
  t.throws(
    changed(t, (document) => Object.assign(document, { openapi: '3.1.0' })),
    { message: String.raw`openapi.yaml: openapi must match the pattern ^3\.0\.\d(-.+)?$` }
  )
  t.end()
})

t.test('an operation has the parameters of its path item, unless it has its own of the name', (t) => {
  const shared = [
    { in: 'header', name: 'X-A', schema: { type: 'string' } },
    { in: 'header', name: 'X-B', schema: { type: 'string' } }
  ]
  const own = [
    { in: 'header', name: 'X-B', schema: { type: 'integer' } },
    { in: 'header', name: 'X-C', schema: { type: 'string' } }
  ]
  const read = changed(t, (document) =>
    Object.assign(document, {
      security: undefined,
      paths: { '/a': { parameters: shared, get: { ...operation, parameters: own } } }
    })
  )
  t.same(read().document.paths['/a'], { get: { ...operation, parameters: [shared[0], ...own] } })
  t.end()
})

t.test('a parameter and its schema may be references', (t) => {
  const read = changed(t, (document) => {
    const components: Record<string, object> = document['components'] ?? {}
    components['parameters'] = {
      'a/b': { in: 'query', name: 'q', schema: { $ref: '#/components/schemas/NewCategory' } }
    }
    const parameters = [{ $ref: '#/components/parameters/a~1b' }]
    Object.assign(document, { paths: { '/a': { get: { ...operation, parameters } } }, security: undefined })
  })
  t.throws(read, { message: /the query parameter q must have a schema of a plain value/ })
  t.end()
})
