import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { readContract } from '../src/contract.ts'

/** Reads a document that differs from openapi.yaml by what `change` does to it. */
function changed(t: Test, change: (document: Record<string, never>) => void) {
  const document = parse(readFileSync('openapi.yaml', 'utf8')) as Record<string, never>
  change(document)
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, stringify(document))
  return () => readContract(file)
}

t.test('the contract is the document: its bytes, its operations and the path of its first server', (t) => {
  const { yaml, json, basePath, operations } = readContract()
  t.same(yaml, readFileSync('openapi.yaml'))
  t.same(JSON.parse(json), parse(readFileSync('openapi.yaml', 'utf8')))
  t.equal(basePath, '/v1')
  const security = [{ bearerAuth: [] }]
  const ofCategories = operations.filter(({ path }) => path === '/categories')
  t.same(ofCategories, [
    { id: 'listCategories', method: 'GET', path: '/categories', security, requestBodyRequired: false },
    { id: 'createCategory', method: 'POST', path: '/categories', security, requestBodyRequired: true }
  ])
  t.end()
})

t.test('a document that we could not serve is refused, with what to change', (t) => {
  const operation = { operationId: 'a', responses: {} }
  const refused = (paths: object, message: string) =>
    t.throws(
      changed(t, (document) => Object.assign(document, { paths })),
      { message }
    )
  const shape = 'must have a schema of a plain value or an array, in the default style'
  const one = (parameter: object) => ({ '/a': { get: { ...operation, parameters: [parameter] } } })
  refused({ '/a': { get: { responses: {} } } }, 'openapi.yaml: GET /a needs an operationId that is an identifier')
  refused(
    { '/a': { get: { ...operation, operationId: 'a-b' } } },
    'openapi.yaml: GET /a needs an operationId that is an identifier'
  )
  refused({ '/a': { get: operation, post: operation } }, 'openapi.yaml: the operationId a is used twice')
  refused(
    { '/{a-b}': { get: operation } },
    'openapi.yaml: GET /{a-b}: a path parameter is named with A-Z, a-z, 0-9 and _'
  )
  refused(one({ in: 'query', name: 'q' }), `openapi.yaml: GET /a: the query parameter q ${shape}`)
  refused(
    one({ in: 'query', name: 'q', schema: { type: 'object' } }),
    `openapi.yaml: GET /a: the query parameter q ${shape}`
  )
  refused(
    one({ in: 'query', name: 'q', schema: {}, explode: false }),
    `openapi.yaml: GET /a: the query parameter q ${shape}`
  )
  refused(one({ in: 'cookie', name: 'q', schema: {} }), `openapi.yaml: GET /a: the cookie parameter q ${shape}`)
  refused(one({ $ref: '#/components/parameters/none' }), 'openapi.yaml: #/components/parameters/none does not exist')
  refused(
    { '/a': { post: { ...operation, requestBody: { content: { 'text/plain': {} } } } } },
    'openapi.yaml: POST /a: a request body is application/json and nothing else'
  )
  refused(one({ $ref: '#/components/none/at/all' }), 'openapi.yaml: #/components/none/at/all does not exist')
  const first = 'openapi.yaml: the first server must be a path such as /v1: the deployment that serves the document'
  t.throws(
    changed(t, (document) => Object.assign(document, { servers: [{ url: 'https://host/v1' }] })),
    { message: first }
  )
  t.throws(
    changed(t, (document) => Object.assign(document, { servers: [] })),
    { message: first }
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
      paths: { '/a': { parameters: shared, get: { operationId: 'a', parameters: own, responses: {} } } }
    })
  )
  t.same(read().document.paths['/a'], { get: { operationId: 'a', parameters: [shared[0], ...own], responses: {} } })
  t.end()
})

t.test('a parameter and its schema may be references', (t) => {
  const read = changed(t, (document) => {
    const components: Record<string, object> = document['components'] ?? {}
    components['parameters'] = {
      'a/b': { in: 'query', name: 'q', schema: { $ref: '#/components/schemas/NewCategory' } }
    }
    const parameters = [{ $ref: '#/components/parameters/a~1b' }]
    Object.assign(document, {
      paths: { '/a': { get: { operationId: 'a', parameters, responses: {} } } },
      security: undefined
    })
  })
  t.throws(read, { message: /the query parameter q must have a schema of a plain value/ })
  t.end()
})
