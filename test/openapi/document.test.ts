import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { readContract } from '../../src/openapi/document.ts'

t.test('the contract has the bytes of openapi.yaml, its operations and its base path', (t) => {
  const { yaml, json, basePath, operations } = readContract()
  t.same(yaml, readFileSync('openapi.yaml'))
  t.same(JSON.parse(json), parse(readFileSync('openapi.yaml', 'utf8')))
  t.equal(basePath, '/v1')
  const common = { path: '/categories', security: ['bearerAuth'], deprecation: {} }
  t.match(operations, [
    { ...common, id: 'listCategories', method: 'GET' },
    { ...common, id: 'createCategory', method: 'POST' }
  ])
  t.end()
})
