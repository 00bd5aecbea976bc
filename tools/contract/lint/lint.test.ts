import { readFileSync } from 'node:fs'
import { findConfig, lintFromString, loadConfig } from '@redocly/openapi-core'
import t from 'tap'
import { edit, type Edits } from '../edit.ts'

const list = 'paths /categories get'
const create = 'paths /categories post'
const name = 'components schemas NewCategory properties name'
const category = 'components schemas Category properties'
const quantity = 'components schemas Order properties quantity'
const header = 'components parameters IfNoneMatch'
const created = `${create} responses 201 content application/json`
const listed = `${list} responses 200 content application/json schema`
const bearer = 'components securitySchemes bearerAuth'
const operation = { operationId: 'other', tags: ['Categories'], responses: {} }
const serverError = { $ref: '#/components/responses/InternalError' }
const deprecated = { [`${list} deprecated`]: true }

/** A parameter in the query with this schema, in place of the header. */
const query = (schema: object) => ({
  [header]: { in: 'query', name: 'since', description: 'Since when', schema }
})

/** What each rule of redocly.yaml and plugin.ts must report. */
const faults: Record<string, Edits | Edits[]> = {
  'body-has-examples': { [`${created} examples`]: undefined },
  'path-parameter-has-examples': {
    'paths /pets/{petId} get parameters 0 examples': undefined
  },
  'header-has-example': { 'components headers RetryAfter example': undefined },
  'property-has-description': { [`${category} name description`]: undefined },
  'operation-has-errors': { [`${create} responses 403`]: undefined },
  'body-has-413': { [`${create} responses 413`]: undefined },
  'idempotency-key-has-errors': { [`${create} responses 422`]: undefined },
  'status-is-exact': [
    { [`${list} responses default`]: serverError },
    { [`${list} responses 4XX`]: serverError }
  ],
  'error-has-body': {
    'components responses TooManyRequests content': undefined
  },
  'dates-need-deprecated': { [`${list} x-sunset`]: '2027-01-01' },
  'dates-are-dates': { ...deprecated, [`${list} x-sunset`]: '2027-02-30' },
  'openapi-is-3-0-or-3-1': { openapi: '3.2.0' },
  'type-is-single': {
    openapi: '3.1.1',
    [`${name} type`]: ['string', 'integer']
  },
  'one-server-is-path': [
    { servers: [{ url: 'https://api.petstore.example/v1' }] },
    { servers: [{ url: '/v1' }, { url: '/v2' }] },
    { servers: [{ url: '/' }] },
    { servers: [{ url: 'https://api.petstore.example' }, { url: '/v1' }] }
  ],
  'path-characters': [
    { 'paths /dogs/{dog-id}': { post: operation } },
    { 'paths /dogs/*': { post: operation } }
  ],
  'path-item-has-operations-only': [
    { 'paths /categories parameters': [] },
    { 'paths /categories trace': operation }
  ],
  'operation-id-is-name': { [`${list} operationId`]: 'list/categories' },
  'operation-has-responses': { [`${list} responses`]: undefined },
  'responses-are-not-empty': { [`${list} responses`]: {} },
  'reference-is-internal': { [name]: { $ref: 'other.yaml#/name' } },
  'all-of-has-one-type': {
    [name]: { allOf: [{ type: 'string' }, { type: 'object' }] }
  },
  'operation-has-no-servers': { [`${list} servers`]: [{ url: '/v2' }] },
  'get-has-no-body': { [`${list} requestBody`]: { content: {} } },
  'request-body-is-required': { [`${create} requestBody required`]: undefined },
  'body-is-json': { [`${create} requestBody content`]: {} },
  'body-has-schema': { [`${created} schema`]: undefined },
  'one-security-requirement': [
    { [`${list} security`]: [] },
    { [`${list} security`]: [{ bearerAuth: [] }, { bearerAuth: [] }] }
  ],
  'one-security-requirement-by-default': {
    security: [{ bearerAuth: [] }, { bearerAuth: [] }]
  },
  'security-is-bearer': { [`${list} security`]: [{}] },
  'security-scheme-is-bearer': { [`${bearer} scheme`]: 'basic' },
  'operation-has-scopes': [
    { [`${list} x-scopes`]: undefined },
    { [`${list} x-scopes`]: ['categories:list'] }
  ],
  'key-prefix-is-word': { [`${bearer} x-key-prefix`]: 'a.b_' },
  'realm-is-word': { [`${bearer} x-realm`]: 'a"b' },
  'parameter-place': { [`${header} in`]: 'cookie' },
  'parameter-style': [
    { [`${header} style`]: 'simple' },
    { [`${header} schema`]: undefined }
  ],
  'parameter-type': { [`${header} schema type`]: 'object' },
  'parameter-array-is-in-query': { [`${header} schema type`]: 'array' },
  'keyword-is-supported': [
    { [`${name} not`]: { enum: ['Dog'] } },
    { openapi: '3.1.1', [`${category} id prefixItems`]: [] }
  ],
  'format-of-string-is-checked': [
    { [`${name} format`]: 'country' },
    { [name]: { type: ['string', 'null'], format: 'country' } }
  ],
  'integer-has-format': { [`${quantity} format`]: undefined },
  'format-of-integer-is-checked': { [`${quantity} format`]: 'uuid' },
  'format-of-number-is-checked': {
    [`${quantity} type`]: 'number',
    [`${quantity} format`]: 'int32'
  },
  'int64-keywords': { [`${category} id multipleOf`]: 2 },
  'array-has-items': { [`${listed} items`]: undefined },
  'no-unique-items': { [`${listed} uniqueItems`]: true },
  'request-is-bounded': [
    { [`${name} maxLength`]: undefined },
    { [name]: { type: ['string', 'null'], format: 'email', description: 'x' } },
    { [name]: { type: 'array', description: 'x', items: {} } },
    { 'components schemas NewMessage additionalProperties': undefined }
  ],
  'parameter-is-bounded': [
    query({ type: 'string' }),
    query({ type: 'string', format: 'date-time' })
  ],
  'response-is-serializable': [
    { [`${category} name type`]: undefined },
    { 'components schemas Message additionalProperties': false }
  ]
}

/** What none may report. */
const accepted: Edits[] = [
  {},
  { ...deprecated, [`${list} x-sunset`]: '2026-07-01' },
  query({ type: 'string', format: 'date-time', maxLength: 40 }),
  query({ type: 'array', items: { type: 'integer', format: 'int32' } }),
  { servers: [{ url: 'https://x.example/shop/v1.0' }, { url: '/shop/v1.0' }] },
  {
    openapi: '3.1.1',
    [`${category} description type`]: ['string', 'null'],
    ...query({ type: 'string', const: 'now', examples: ['now'] })
  }
]

const openapi = readFileSync('openapi.yaml', 'utf8')
const config = await loadConfig({
  configPath: 'tools/contract/lint/redocly.yaml'
})

/** The rules that report something in openapi.yaml after the edits. */
async function reportersOf(edits: Edits): Promise<string[]> {
  const problems = await lintFromString({
    source: edit(openapi, edits),
    absoluteRef: 'openapi.yaml',
    config
  })
  return problems.map(({ ruleId }) => ruleId.replace(/.*\//, ''))
}

for (const edits of accepted) {
  t.test(`accepts ${JSON.stringify(edits)}`, async (t) => {
    t.same(await reportersOf(edits), [])
  })
}

for (const [rule, variants] of Object.entries(faults)) {
  t.test(rule, async (t) => {
    for (const edits of [variants].flat()) {
      const reporters = await reportersOf(edits)
      t.ok(reporters.includes(rule), JSON.stringify({ edits, reporters }))
    }
  })
}

t.test('each rule has a fault that it reports', (t) => {
  const redocly = readFileSync('tools/contract/lint/redocly.yaml', 'utf8')
  for (const [, rule = ''] of redocly.matchAll(/(?:rule|service)\/([\w-]+)/g))
    t.ok(rule in faults, rule)
  t.end()
})

t.test('openapi-typescript finds no rules in the root of a clone', (t) => {
  t.equal(findConfig(), undefined)
  t.end()
})
