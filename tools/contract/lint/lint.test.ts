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

/** A fault in openapi.yaml, and the rule that must report it. */
interface Fault {
  rule: string
  edits: Edits
}

const faults: Fault[] = [
  { rule: 'operation-tag-defined', edits: { [`${list} tags`]: ['Dogs'] } },
  {
    rule: 'operation-operationId-unique',
    edits: { [`${list} operationId`]: 'createCategory' }
  },
  {
    rule: 'no-unresolved-refs',
    edits: { [`${created} schema $ref`]: '#/components/schemas/Dog' }
  },
  { rule: 'security-defined', edits: { security: [{ other: [] }] } },
  { rule: 'security-defined', edits: { security: undefined } },
  {
    rule: 'paths-kebab-case',
    edits: { 'paths /bigDogs': { post: operation } }
  },
  { rule: 'path-segment-plural', edits: { 'paths /dog': { post: operation } } },
  {
    rule: 'path-parameters-defined',
    edits: { 'paths /dogs/{dogId}': { post: operation } }
  },
  {
    rule: 'request-mime-type',
    edits: { [`${create} requestBody content text/plain`]: {} }
  },
  {
    rule: 'response-mime-type',
    edits: { [`${create} responses 201 content text/plain`]: {} }
  },
  {
    rule: 'response-contains-header',
    edits: { [`${create} responses 201 headers X-Request-Id`]: undefined }
  },
  {
    rule: 'response-contains-header',
    edits: {
      'components responses TooManyRequests headers Retry-After': undefined
    }
  },
  {
    rule: 'response-contains-property',
    edits: { [`${schemas} Error properties code`]: undefined }
  },
  { rule: 'struct', edits: { [`${name} maxLenght`]: 5 } },
  { rule: 'no-invalid-schema-examples', edits: { [`${name} example`]: 5 } },
  {
    rule: 'no-invalid-parameter-examples',
    edits: { [`${header} example`]: 5 }
  },
  {
    rule: 'no-invalid-media-type-examples',
    edits: { [`${created} examples full value id`]: 'three' }
  },
  {
    rule: 'no-invalid-media-type-examples',
    edits: { [`${created} examples full value age`]: 3 }
  },
  {
    rule: 'no-invalid-media-type-examples',
    edits: { [`${created} examples full value name`]: undefined }
  },

  {
    rule: 'rule/body-has-examples',
    edits: { [`${created} examples`]: undefined }
  },
  {
    rule: 'rule/path-parameter-has-examples',
    edits: { 'paths /pets/{petId} get parameters 0 examples': undefined }
  },
  {
    rule: 'rule/header-has-example',
    edits: { 'components headers RetryAfter example': undefined }
  },
  {
    rule: 'rule/property-has-description',
    edits: { [`${schemas} Category properties name description`]: undefined }
  },
  {
    rule: 'rule/operation-has-errors',
    edits: { [`${create} responses 429`]: undefined }
  },
  {
    rule: 'rule/error-has-body',
    edits: { 'components responses TooManyRequests content': undefined }
  },
  {
    rule: 'rule/dates-need-deprecated',
    edits: { [`${list} x-deprecated-sunset`]: '2027-01-01' }
  },
  {
    rule: 'rule/dates-are-dates',
    edits: { ...deprecated, [`${list} x-sunset`]: '2027-02-30' }
  },

  {
    rule: 'bodies/request-is-bounded',
    edits: {
      [`${schemas} NewCategory properties description maxLength`]: undefined
    }
  },
  {
    rule: 'bodies/request-is-bounded',
    edits: {
      [`${schemas} NewCategory properties tags`]: { type: 'array', items: {} }
    }
  },
  { rule: 'rule/parameters-bounded', edits: { [`${header} in`]: 'query' } },

  {
    rule: 'rule/first-server-is-path',
    edits: { 'servers 0 url': 'https://api.petstore.example/v1' }
  },
  {
    rule: 'rule/path-characters',
    edits: { 'paths /dogs/{dog-id}': { post: operation } }
  },
  {
    rule: 'rule/path-characters',
    edits: { 'paths /dogs:find': { post: operation } }
  },
  {
    rule: 'rule/path-characters',
    edits: { 'paths /dogs/*': { post: operation } }
  },
  {
    rule: 'rule/path-item-has-operations-only',
    edits: { 'paths /categories parameters': [] }
  },
  {
    rule: 'rule/path-item-has-operations-only',
    edits: { 'paths /categories trace': operation }
  },
  {
    rule: 'rule/operation-has-no-servers',
    edits: { [`${list} servers`]: [{ url: '/v2' }] }
  },
  {
    rule: 'rule/operation-id-is-identifier',
    edits: { [`${list} operationId`]: 'list-categories' }
  },
  {
    rule: 'rule/get-has-no-body',
    edits: { [`${list} requestBody`]: { content: {} } }
  },
  {
    rule: 'rule/request-body-is-required',
    edits: { [`${create} requestBody required`]: undefined }
  },
  {
    rule: 'rule/body-is-json',
    edits: { [`${create} requestBody content`]: {} }
  },
  { rule: 'rule/body-has-schema', edits: { [`${created} schema`]: undefined } },
  {
    rule: 'rule/one-security-requirement',
    edits: { [`${list} security`]: [] }
  },
  {
    rule: 'rule/one-security-requirement',
    edits: { [`${list} security`]: [{ bearerAuth: [] }, { bearerAuth: [] }] }
  },
  {
    rule: 'rule/one-security-requirement-by-default',
    edits: { security: [{ bearerAuth: [] }, { bearerAuth: [] }] }
  },
  { rule: 'rule/security-is-bearer', edits: { [`${list} security`]: [{}] } },
  {
    rule: 'rule/security-scheme-has-hook',
    edits: {
      'components securitySchemes other': { type: 'http', scheme: 'bearer' }
    }
  },
  {
    rule: 'rule/security-scheme-is-bearer',
    edits: { 'components securitySchemes bearerAuth scheme': 'basic' }
  },
  {
    rule: 'rule/operation-has-errors',
    edits: { [`${create} responses 403`]: undefined }
  },
  {
    rule: 'rule/operation-has-scopes',
    edits: { [`${list} x-scopes`]: undefined }
  },
  { rule: 'rule/operation-has-scopes', edits: { [`${list} x-scopes`]: [] } },
  {
    rule: 'rule/operation-has-scopes',
    edits: { [`${list} x-scopes`]: ['categories'] }
  },
  {
    rule: 'rule/operation-has-scopes',
    edits: { [`${list} x-scopes`]: ['categories:list'] }
  },
  {
    rule: 'response-contains-header',
    edits: {
      'components responses Forbidden headers WWW-Authenticate': undefined
    }
  },
  {
    rule: 'rule/key-prefix-is-word',
    edits: { 'components securitySchemes bearerAuth x-key-prefix': undefined }
  },
  {
    rule: 'rule/key-prefix-is-word',
    edits: { 'components securitySchemes bearerAuth x-key-prefix': 'a.b_' }
  },
  {
    rule: 'rule/realm-is-word',
    edits: { 'components securitySchemes bearerAuth x-realm': undefined }
  },
  {
    rule: 'rule/realm-is-word',
    edits: { 'components securitySchemes bearerAuth x-realm': 'a"b' }
  },
  { rule: 'rule/parameter-place', edits: { [`${header} in`]: 'cookie' } },
  { rule: 'rule/parameter-style', edits: { [`${header} style`]: 'simple' } },
  { rule: 'rule/parameter-style', edits: { [`${header} schema`]: undefined } },
  {
    rule: 'rule/parameter-type',
    edits: { [`${header} schema type`]: 'object' }
  },
  {
    rule: 'rule/parameter-array-is-in-query',
    edits: {
      [`${header} schema`]: { type: 'array', items: { type: 'integer' } }
    }
  },
  {
    rule: 'rule/schema-keywords',
    edits: { [`${name} not`]: { enum: ['Dog'] } }
  },
  {
    rule: 'rule/schema-keywords',
    edits: { [`${schemas} Category discriminator`]: { propertyName: 'name' } }
  },
  {
    rule: 'rule/int64-keywords',
    edits: { [`${schemas} Category properties id multipleOf`]: 2 }
  },
  {
    rule: 'rule/array-has-items',
    edits: {
      [`${list} responses 200 content application/json schema items`]: undefined
    }
  },
  {
    rule: 'rule/no-unique-items',
    edits: {
      [`${list} responses 200 content application/json schema uniqueItems`]: true
    }
  },
  {
    rule: 'bodies/response-is-serializable',
    edits: {
      [`${created} schema`]: {
        oneOf: [{ $ref: '#/components/schemas/Category' }]
      }
    }
  },
  {
    rule: 'bodies/response-is-serializable',
    edits: { [`${schemas} Category properties name type`]: undefined }
  },

  {
    rule: 'bodies/request-is-bounded',
    edits: { [`${schemas} NewMessage additionalProperties`]: undefined }
  },
  {
    rule: 'bodies/response-is-serializable',
    edits: { [`${schemas} Message additionalProperties`]: false }
  }
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

/** What is no fault. */
const accepted: Record<string, Edits> = {
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
}

for (const [title, edits] of Object.entries(accepted)) {
  t.test(`${title} is no problem`, async (t) => {
    t.same(await rulesBroken(edits), [])
  })
}

for (const { rule, edits } of faults) {
  t.test(`${rule} reports ${Object.keys(edits).join(', ')}`, async (t) => {
    const broken = await rulesBroken(edits)
    t.ok(broken.includes(rule))
  })
}

t.test('every rule of redocly.yaml has a fault that it reports', (t) => {
  const own =
    readFileSync('redocly.yaml', 'utf8').match(/(rule|bodies)\/[a-z0-9-]+/g) ??
    []
  const tested = new Set(faults.map(({ rule }) => rule))
  t.same(
    own.filter((rule) => !tested.has(rule)),
    []
  )
  t.end()
})
