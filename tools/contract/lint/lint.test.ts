import { readFileSync } from 'node:fs'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import t from 'tap'
import { edit, type Edits } from '../edit.ts'

const list = 'paths /categories get'
const create = 'paths /categories post'
const schemas = 'components schemas'
const name = `${schemas} NewCategory properties name`
const header = `${list} parameters 0`
const created = `${create} responses 201 content application/json`
const operation = { operationId: 'other', tags: ['Categories'], responses: {} }
const deprecated = { [`${list} deprecated`]: true }
const query = { in: 'query', name: 'since', description: 'Since when' }

/** Each fault in openapi.yaml, and the rule that must report it. */
const faults: [rule: string, fault: Edits][] = [
  ['operation-tag-defined', { [`${list} tags`]: ['Dogs'] }],
  [
    'operation-operationId-unique',
    { [`${list} operationId`]: 'createCategory' }
  ],
  [
    'no-unresolved-refs',
    { [`${created} schema $ref`]: '#/components/schemas/Dog' }
  ],
  ['security-defined', { security: [{ other: [] }] }],
  ['security-defined', { security: undefined }],
  ['paths-kebab-case', { 'paths /bigDogs': { post: operation } }],
  ['path-segment-plural', { 'paths /dog': { post: operation } }],
  ['path-parameters-defined', { 'paths /dogs/{dogId}': { post: operation } }],
  ['request-mime-type', { [`${create} requestBody content text/plain`]: {} }],
  [
    'response-mime-type',
    { [`${create} responses 201 content text/plain`]: {} }
  ],
  [
    'response-contains-header',
    { [`${create} responses 201 headers X-Request-Id`]: undefined }
  ],
  [
    'response-contains-header',
    { 'components responses TooManyRequests headers Retry-After': undefined }
  ],
  [
    'response-contains-property',
    { [`${schemas} Error properties code`]: undefined }
  ],
  ['struct', { [`${name} maxLenght`]: 5 }],
  ['no-invalid-schema-examples', { [`${name} example`]: 5 }],
  ['no-invalid-parameter-examples', { [`${header} example`]: 5 }],
  [
    'no-invalid-media-type-examples',
    { [`${created} examples full value id`]: 'three' }
  ],
  [
    'no-invalid-media-type-examples',
    { [`${created} examples full value age`]: 3 }
  ],
  [
    'no-invalid-media-type-examples',
    { [`${created} examples full value name`]: undefined }
  ],

  ['rule/body-has-examples', { [`${created} examples`]: undefined }],
  [
    'rule/path-parameter-has-examples',
    { 'paths /pets/{petId} get parameters 0 examples': undefined }
  ],
  [
    'rule/header-has-example',
    { 'components headers RetryAfter example': undefined }
  ],
  [
    'rule/property-has-description',
    { [`${schemas} Category properties name description`]: undefined }
  ],
  ['rule/operation-has-errors', { [`${create} responses 429`]: undefined }],
  [
    'rule/error-has-body',
    { 'components responses TooManyRequests content': undefined }
  ],
  [
    'rule/dates-need-deprecated',
    { [`${list} x-deprecated-sunset`]: '2027-01-01' }
  ],
  [
    'rule/dates-are-dates',
    { ...deprecated, [`${list} x-sunset`]: '2027-02-30' }
  ],

  [
    'bodies/request-is-bounded',
    { [`${schemas} NewCategory properties description maxLength`]: undefined }
  ],
  [
    'bodies/request-is-bounded',
    { [`${schemas} NewCategory properties tags`]: { type: 'array', items: {} } }
  ],
  ['rule/parameters-bounded', { [`${header} in`]: 'query' }],

  [
    'rule/first-server-is-path',
    { 'servers 0 url': 'https://api.petstore.example/v1' }
  ],
  ['rule/path-characters', { 'paths /dogs/{dog-id}': { post: operation } }],
  ['rule/path-characters', { 'paths /dogs:find': { post: operation } }],
  ['rule/path-characters', { 'paths /dogs/*': { post: operation } }],
  [
    'rule/path-item-has-operations-only',
    { 'paths /categories parameters': [] }
  ],
  [
    'rule/path-item-has-operations-only',
    { 'paths /categories trace': operation }
  ],
  ['rule/operation-has-no-servers', { [`${list} servers`]: [{ url: '/v2' }] }],
  [
    'rule/operation-id-is-identifier',
    { [`${list} operationId`]: 'list-categories' }
  ],
  ['rule/get-has-no-body', { [`${list} requestBody`]: { content: {} } }],
  [
    'rule/request-body-is-required',
    { [`${create} requestBody required`]: undefined }
  ],
  ['rule/body-is-json', { [`${create} requestBody content`]: {} }],
  ['rule/body-has-schema', { [`${created} schema`]: undefined }],
  ['rule/one-security-requirement', { [`${list} security`]: [] }],
  [
    'rule/one-security-requirement',
    { [`${list} security`]: [{ bearerAuth: [] }, { bearerAuth: [] }] }
  ],
  [
    'rule/one-security-requirement-by-default',
    { security: [{ bearerAuth: [] }, { bearerAuth: [] }] }
  ],
  ['rule/security-is-bearer', { [`${list} security`]: [{}] }],
  [
    'rule/security-scheme-has-hook',
    { 'components securitySchemes other': { type: 'http', scheme: 'bearer' } }
  ],
  [
    'rule/security-scheme-is-bearer',
    { 'components securitySchemes bearerAuth scheme': 'basic' }
  ],
  ['rule/parameter-place', { [`${header} in`]: 'cookie' }],
  ['rule/parameter-style', { [`${header} style`]: 'simple' }],
  ['rule/parameter-style', { [`${header} schema`]: undefined }],
  ['rule/parameter-type', { [`${header} schema type`]: 'object' }],
  [
    'rule/parameter-array-is-in-query',
    { [`${header} schema`]: { type: 'array', items: { type: 'integer' } } }
  ],
  ['rule/schema-keywords', { [`${name} not`]: { enum: ['Dog'] } }],
  [
    'rule/schema-keywords',
    { [`${schemas} Category discriminator`]: { propertyName: 'name' } }
  ],
  [
    'rule/int64-keywords',
    { [`${schemas} Category properties id multipleOf`]: 2 }
  ],
  [
    'rule/array-has-items',
    {
      [`${list} responses 200 content application/json schema items`]: undefined
    }
  ],
  [
    'rule/no-unique-items',
    {
      [`${list} responses 200 content application/json schema uniqueItems`]: true
    }
  ],
  [
    'bodies/response-is-serializable',
    {
      [`${created} schema`]: {
        oneOf: [{ $ref: '#/components/schemas/Category' }]
      }
    }
  ],
  [
    'bodies/response-is-serializable',
    { [`${schemas} Category properties name type`]: undefined }
  ],

  [
    'bodies/request-is-bounded',
    { [`${schemas} NewMessage additionalProperties`]: undefined }
  ],
  [
    'bodies/response-is-serializable',
    { [`${schemas} Message additionalProperties`]: false }
  ]
]

const config = await loadConfig({ configPath: 'redocly.yaml' })
const openapi = readFileSync('openapi.yaml', 'utf8')

/** The rules that report something in openapi.yaml after the edits. */
async function rulesBroken(edits: Edits): Promise<string[]> {
  const problems = await lintFromString({
    source: edit(openapi, edits),
    absoluteRef: 'openapi.yaml',
    config
  })
  return problems.map(({ ruleId }) => ruleId)
}

t.test('openapi.yaml has no problems', async (t) =>
  t.same(await rulesBroken({}), [])
)

for (const [what, edits] of Object.entries<Edits>({
  'a deprecation without dates': deprecated,
  'a deprecation with a sunset': {
    ...deprecated,
    [`${list} x-sunset`]: '2026-07-01'
  },
  'a deprecation with the other name of a sunset': {
    ...deprecated,
    [`${list} x-deprecated-sunset`]: '2026-07-01'
  },
  'a date in a query': {
    [header]: { ...query, schema: { type: 'string', format: 'date' } }
  },
  'an enum in a query': {
    [header]: { ...query, schema: { type: 'string', enum: ['a', 'b'] } }
  },
  'an array in a query': {
    [header]: {
      ...query,
      schema: { type: 'array', items: { type: 'integer' } }
    }
  }
})) {
  t.test(`${what} is no problem`, async (t) =>
    t.same(await rulesBroken(edits), [])
  )
}

for (const [rule, fault] of faults) {
  t.test(`${rule} reports ${Object.keys(fault).join(', ')}`, async (t) =>
    t.ok((await rulesBroken(fault)).includes(rule))
  )
}

t.test('every rule of redocly.yaml has a fault that it reports', (t) => {
  const own =
    readFileSync('redocly.yaml', 'utf8').match(/(rule|bodies)\/[a-z0-9-]+/g) ??
    []
  const tested = new Set(faults.map(([rule]) => rule))
  t.same(
    own.filter((rule) => !tested.has(rule)),
    []
  )
  t.end()
})
