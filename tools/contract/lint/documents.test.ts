// What documents of other APIs may have: the linter accepts it, the generated
// code is TypeScript, and the service routes to the operation.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { notImplemented } from '../../../src/framework/openapi/not-implemented.ts'
import { start } from '../../../test/framework/openapi/serve.ts'
import {
  bodyColumnsFile,
  rowJsonFile
} from '../../generate/json-and-columns.ts'
import { edit, type Edits } from '../edit.ts'

const base = `
openapi: 3.0.3
info: { title: Things, version: 1.0.0 }
servers: [{ url: /v1 }]
security: [{ bearerAuth: [] }]
paths:
  /things:
    get:
      operationId: listThings
      x-scopes: [things:read]
      responses:
        '200':
          description: A thing
          content:
            application/json: { schema: { $ref: '#/components/schemas/Thing' } }
components:
  securitySchemes:
    bearerAuth:
      { type: http, scheme: bearer, x-key-prefix: thing_, x-realm: things }
  schemas:
    Thing:
      { type: object, required: [id], properties: { id: { type: string } } }
`

const get = 'paths /things get'
const thing = 'components schemas Thing'
const string = { type: 'string' }
const object = { type: 'object' }
const operation = {
  operationId: 'getThing',
  'x-scopes': ['things:read'],
  responses: { 204: { description: 'None' } }
}

const jsonOf = (schemaName: string) => ({
  content: {
    'application/json': {
      schema: { $ref: `#/components/schemas/${schemaName}` }
    }
  }
})
const putTree = { requestBody: { required: true, ...jsonOf('Tree') } }

/** Documents by what they have, and the path of an operation. */
const served: [has: string, Edits, url?: string][] = [
  [
    'several segments before its paths',
    {
      servers: [{ url: '/shop/v1.0' }],
      'paths /Big_Things/v1.0': { get: operation }
    },
    '/shop/v1.0/Big_Things/v1.0'
  ],
  ['the path /', { 'paths /': { get: operation } }, '/v1/'],
  [
    'names with signs',
    {
      [`${get} operationId`]: 'list-Things.v1',
      [`${get} responses 200 content`]: jsonOf('acme.v1.Thing').content,
      'components schemas acme.v1.Thing': {
        ...object,
        required: ['id'],
        properties: { id: string, "a'`$\\": {} }
      }
    }
  ],
  ['an array as a component', { [thing]: { type: 'array', items: string } }],
  ['a map', { [thing]: { ...object, additionalProperties: string } }],
  ['an unknown format', { [`${thing} properties id format`]: 'country' }],
  [
    'two recursive bodies',
    {
      'components schemas Tree': {
        ...object,
        properties: { children: { $ref: '#/components/schemas/Tree' } }
      },
      'paths /things put': { ...operation, operationId: 'a', ...putTree },
      'paths /things patch': { ...operation, operationId: 'b', ...putTree }
    }
  ]
]

const config = await loadConfig({
  configPath: 'tools/contract/lint/redocly.yaml'
})

/** The errors of the linter. */
async function errorsOf(source: string): Promise<string[]> {
  const absoluteRef = path.resolve('openapi.yaml')
  const problems = await lintFromString({ source, absoluteRef, config })
  return problems
    .filter(({ severity }) => severity === 'error')
    .map(({ message }) => message)
}

/** Generates the code of a document, and serves it. */
async function serve(t: Test, source: string) {
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, source)
  const apiDocument = readApiDocument(file)
  for (const code of [rowJsonFile(apiDocument), bodyColumnsFile(apiDocument)]) {
    const { diagnostics } = ts.transpileModule(code, {
      reportDiagnostics: true
    })
    t.same(diagnostics, [])
  }
  const ids = apiDocument.operations.map((one) => [one.id, notImplemented])

  return start(t, apiDocument, Object.fromEntries(ids) as object)
}

for (const [has, edits, url = '/v1/things'] of served) {
  t.test(`a document with ${has} is served`, async (t) => {
    const source = edit(base, edits)
    t.same(await errorsOf(source), [])
    const app = await serve(t, source)
    t.equal((await app.inject({ url })).statusCode, 401)
    const headers = { authorization: 'x' }
    t.equal((await app.inject({ url, headers })).statusCode, 501)
  })
}
