import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { readContract } from '../../src/openapi/document.ts'

t.test('the contract has the bytes of openapi.yaml, its operations, base path and response headers', (t) => {
  const { yaml, json, basePath, operations, responseHeaders } = readContract()
  t.same(yaml, readFileSync('openapi.yaml'))
  t.same(JSON.parse(json), parse(readFileSync('openapi.yaml', 'utf8')))
  t.equal(basePath, '/v1')
  const common = { path: '/categories', security: ['bearerAuth'], deprecation: {} }
  t.match(operations, [
    { ...common, id: 'listCategories', method: 'GET' },
    { ...common, id: 'createCategory', method: 'POST' }
  ])
  // One is inline, the other is in a response that a $ref points to.
  for (const name of ['ETag', 'Retry-After']) t.ok(responseHeaders.includes(name), name)
  t.end()
})
