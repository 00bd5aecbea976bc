// What documents of other APIs have: it is served, or the linter rejects it
// with its place and what to write instead.
import { readFileSync, writeFileSync } from 'node:fs'
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
import { guideWith } from '../../generate/operation-errors.ts'
import { pagesFile } from '../../generate/pages.ts'
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

const item = 'paths /things'
const get = `${item} get`
const ok = `${get} responses 200`
const thing = 'components schemas Thing'
const $ref = '#/components/schemas/Thing'
const string = { type: 'string' }
const object = { type: 'object' }
const operation = {
  operationId: 'getThing',
  'x-scopes': ['things:read'],
  responses: { 204: { description: 'None' } }
}
const jsonOf = (schema: object) => ({
  content: { 'application/json': { schema } }
})
/** An error with an example. */
const errorWith = (value: object) => {
  const properties = { code: string, message: string, status: string }
  const schema = { ...object, properties }
  return {
    content: { 'application/json': { schema, examples: { one: { value } } } }
  }
}
const tree = {
  ...object,
  properties: { children: { $ref: '#/components/schemas/Tree' } }
}
const putTree = {
  requestBody: {
    required: true,
    ...jsonOf({ $ref: '#/components/schemas/Tree' })
  }
}

/** Documents by what they have, and the path of an operation. */
const served: [has: string, Edits, url?: string][] = [
  ['a summary of a path', { [`${item} summary`]: 'x', [`${item} x-y`]: {} }],
  [
    'a path in upper case',
    { 'paths /Big_Things/v1.0': { get: operation } },
    '/v1/Big_Things/v1.0'
  ],
  ['the path /', { 'paths /': { get: operation } }, '/v1/'],
  [
    'several segments before its paths',
    { servers: [{ url: '/shop/v1.0' }] },
    '/shop/v1.0/things'
  ],
  [
    'an operationId in other words',
    { [`${get} operationId`]: 'list-Things.v1' }
  ],
  ['a tag without a summary', { [`${get} tags`]: ['things'] }],
  ['an array as a component', { [thing]: { type: 'array', items: string } }],
  ['a scalar as a component', { [thing]: string }],
  ['allOf as a component', { [thing]: { allOf: [object] } }],
  ['no required property', { [`${thing} required`]: undefined }],
  ['a map', { [thing]: { ...object, additionalProperties: string } }],
  ['a value of any type', { [`${thing} properties id`]: {} }],
  [
    'an example of an error without a code',
    { [`${get} responses 404`]: { description: 'None', ...errorWith({}) } }
  ],
  ['an unknown format', { [`${thing} properties id format`]: 'country' }],
  [
    'a quote in a name',
    { [`${thing} properties`]: { id: string, "a'`$\\": {} } }
  ],
  [
    'a dot in a name',
    {
      [`${ok} content`]: jsonOf({ $ref: '#/components/schemas/acme.v1.Thing' })
        .content,
      'components schemas acme.v1.Thing': {
        ...object,
        required: ['id'],
        properties: { id: string }
      }
    }
  ],
  ['a merge key', { [`${thing} <<`]: { description: 'A thing' } }],
  [
    'two recursive bodies',
    {
      'components schemas Tree': tree,
      [`${item} put`]: { ...operation, operationId: 'a', ...putTree },
      [`${item} patch`]: { ...operation, operationId: 'b', ...putTree }
    }
  ],
  [
    'a body with an id',
    {
      [`${item} put`]: {
        ...operation,
        requestBody: { required: true, ...jsonOf({ $ref }) }
      }
    }
  ]
]

/** A document for each kind of rule, and the line of the linter. */
const rejected: [Edits, place: string, remedy: RegExp][] = [
  [
    { [`${item} trace`]: operation },
    '/paths/~1things',
    /TRACE .* not supported/
  ],
  [
    { [`${thing} properties id readOnly`]: true },
    '/components/schemas/Thing/properties/id',
    /Write two schemas/
  ],
  [
    { [`${thing} properties id`]: { $ref: 'x.yaml#/id' } },
    '/components/schemas/Thing/properties/id',
    /Copy x.yaml#\/id into this document/
  ]
]

const config = await loadConfig({
  configPath: 'tools/contract/lint/redocly.yaml'
})

/** The errors of the linter, as the line of each. */
async function errorsOf(source: string): Promise<string[]> {
  const problems = await lintFromString({
    source,
    absoluteRef: path.resolve('openapi.yaml'),
    config
  })
  return problems
    .filter(({ severity }) => severity === 'error')
    .map(({ location, message }) => `${location[0]?.pointer} ${message}`)
}

/** Generates the code of a document, and serves it. */
async function serve(t: Test, source: string) {
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, source)
  const apiDocument = readApiDocument(file)
  pagesFile(apiDocument)
  await guideWith(apiDocument, readFileSync('docs/clients.md', 'utf8'))
  for (const code of [rowJsonFile(apiDocument), bodyColumnsFile(apiDocument)]) {
    t.same(
      ts.transpileModule(code, { reportDiagnostics: true }).diagnostics,
      []
    )
  }
  const ids = apiDocument.operations.map((one) => [one.id, notImplemented])

  return start(t, apiDocument, Object.fromEntries(ids) as object)
}

for (const [has, edits, url = '/v1/things'] of served) {
  t.test(`a document with ${has} is served`, async (t) => {
    const source = edit(base, edits)
    t.same(await errorsOf(source), [])
    const app = await serve(t, source)
    const headers = { authorization: 'x' }
    const responses = [
      await app.inject({ url }),
      await app.inject({ url: `${url}?x=1`, headers }),
      await app.inject({ url, headers })
    ]
    t.same(
      responses.map((one) => one.statusCode),
      [401, 400, 501]
    )
  })
}

for (const [edits, place, remedy] of rejected) {
  t.test(`a document with ${JSON.stringify(edits)} is rejected`, async (t) => {
    const errors = await errorsOf(edit(base, edits))
    const line = errors.find((one) => remedy.test(one))
    t.match(line, new RegExp(`^#${place}\\S* `), String(errors))
  })
}
