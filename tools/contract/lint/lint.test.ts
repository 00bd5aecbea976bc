import { readFileSync } from 'node:fs'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
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

/** What each rule of redocly.yaml and plugin.ts must report. */
const faults: Record<string, Edits> = {
  'body-has-examples': { [`${created} examples`]: undefined },
  'path-parameter-has-examples': {
    'paths /pets/{petId} get parameters 0 examples': undefined
  },
  'header-has-example': { 'components headers RetryAfter example': undefined },
  'property-has-description': { [`${category} name description`]: undefined },
  'operation-has-errors': { [`${create} responses 403`]: undefined },
  'body-has-413': { [`${create} responses 413`]: undefined },
  'idempotency-key-has-errors': { [`${create} responses 422`]: undefined },
  'status-is-exact': { [`${list} responses 4XX`]: serverError },
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
  'one-server-is-path': { servers: [{ url: '/v1' }, { url: '/v2' }] },
  'path-characters': { 'paths /dogs/{dog-id}': { post: operation } },
  'path-item-has-operations-only': { 'paths /categories parameters': [] },
  'operation-id-is-name': { [`${list} operationId`]: 'list/categories' },
  'operation-has-responses': { [`${list} responses`]: undefined },
  'operation-has-no-servers': { [`${list} servers`]: [{ url: '/v2' }] },
  'get-has-no-body': { [`${list} requestBody`]: { content: {} } },
  'request-body-is-required': { [`${create} requestBody required`]: undefined },
  'body-is-json': { [`${create} requestBody content`]: {} },
  'body-has-schema': { [`${created} schema`]: undefined },
  'one-security-requirement': { [`${list} security`]: [] },
  'one-security-requirement-by-default': {
    security: [{ bearerAuth: [] }, { bearerAuth: [] }]
  },
  'security-is-bearer': { [`${list} security`]: [{}] },
  'security-scheme-is-bearer': { [`${bearer} scheme`]: 'basic' },
  'operation-has-scopes': { [`${list} x-scopes`]: undefined },
  'key-prefix-is-word': { [`${bearer} x-key-prefix`]: 'a.b_' },
  'realm-is-word': { [`${bearer} x-realm`]: 'a"b' },
  'parameter-place': { [`${header} in`]: 'cookie' },
  'parameter-style': { [`${header} style`]: 'simple' },
  'parameter-type': { [`${header} schema type`]: 'object' },
  'parameter-array-is-in-query': { [`${header} schema type`]: 'array' },
  'keyword-is-supported': { [`${name} not`]: { enum: ['Dog'] } },
  'format-of-string-is-checked': { [`${name} format`]: 'country' },
  'integer-has-format': { [`${quantity} format`]: undefined },
  'int64-keywords': { [`${category} id multipleOf`]: 2 },
  'array-has-items': { [`${listed} items`]: undefined },
  'no-unique-items': { [`${listed} uniqueItems`]: true },
  'request-is-bounded': { [`${name} maxLength`]: undefined },
  'response-is-serializable': { [`${category} name type`]: undefined }
}

/** What none may report. */
const accepted: Edits[] = [
  {},
  { ...deprecated, [`${list} x-sunset`]: '2026-07-01' },
  { openapi: '3.1.1', [`${category} description type`]: ['string', 'null'] }
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

for (const [rule, edits] of Object.entries(faults)) {
  t.test(rule, async (t) => {
    const reporters = await reportersOf(edits)
    t.ok(reporters.includes(rule), String(reporters))
  })
}

t.test('a request needs limits of its arrays and objects, too', async (t) => {
  const array = { type: 'array', description: 'x', items: {} }
  for (const edits of [
    { [name]: array },
    { 'components schemas NewMessage additionalProperties': undefined }
  ])
    t.match(await reportersOf(edits), ['request-is-bounded'])
})

t.test('each rule has a fault that it reports', (t) => {
  const redocly = readFileSync('tools/contract/lint/redocly.yaml', 'utf8')
  for (const [, rule = ''] of redocly.matchAll(/(?:rule|service)\/([\w-]+)/g))
    t.ok(rule in faults, rule)
  t.end()
})
