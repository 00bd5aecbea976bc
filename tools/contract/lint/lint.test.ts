import { readFileSync } from 'node:fs'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import { formatNames } from 'ajv-formats/dist/formats.js'
import t from 'tap'
import { parse } from 'yaml'
import { edit, type Edits } from '../edit.ts'
import { formats } from './plugin.ts'

const list = 'paths /categories get'
const create = 'paths /categories post'
const schemas = 'components schemas'
const name = `${schemas} NewCategory properties name`
const header = 'components parameters IfNoneMatch'
const created = `${create} responses 201 content application/json`
const orderQuantity = `${schemas} Order properties quantity`
const operation = { operationId: 'other', tags: ['Categories'], responses: {} }
const getPet = 'paths /pets/{petId} get'
const sunset = { $ref: '#/components/headers/Sunset' }
const serverError = { $ref: '#/components/responses/InternalError' }
const deprecated = { [`${list} deprecated`]: true }
const query = { in: 'query', name: 'since', description: 'Since when' }

/** A fault in openapi.yaml, and the rule that must report it. */
interface Fault {
  rule: string
  edits: Edits
  /** A part of the message. */
  says?: string
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
    edits: { 'components responses TooManyRequests headers': {} }
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
    edits: { [`${list} x-sunset`]: '2027-01-01' }
  },
  {
    rule: 'rule/sunset-has-one-name',
    edits: { ...deprecated, [`${list} x-deprecated-sunset`]: '2027-01-01' }
  },
  {
    rule: 'rule/dates-are-dates',
    edits: { ...deprecated, [`${list} x-sunset`]: '2027-02-30' }
  },

  {
    rule: 'service/request-is-bounded',
    edits: {
      [`${schemas} NewCategory properties description maxLength`]: undefined
    }
  },
  {
    rule: 'service/request-is-bounded',
    edits: {
      [`${schemas} NewCategory properties tags`]: { type: 'array', items: {} }
    }
  },
  {
    rule: 'service/parameter-is-bounded',
    edits: { [`${header} in`]: 'query' }
  },
  {
    rule: 'service/parameter-is-bounded',
    edits: {
      [header]: { ...query, schema: { type: 'string', format: 'date-time' } }
    },
    says: 'A string in a query needs maxLength'
  },
  {
    rule: 'service/request-is-bounded',
    edits: {
      [name]: { type: 'string', format: 'iso-country-code', description: 'x' }
    },
    says: 'body.name: a string needs maxLength'
  },
  {
    rule: 'service/request-is-bounded',
    edits: { [name]: { type: 'string', format: 'email', description: 'x' } },
    says: 'body.name: a string needs maxLength'
  },

  {
    rule: 'rule/operation-has-errors',
    edits: { [`${list} responses 400`]: undefined },
    says: 'An unknown query parameter causes 400'
  },
  {
    rule: 'service/errors-are-documented',
    edits: { [`${create} responses 413`]: undefined },
    says: 'A request body can cause 413: add these responses'
  },
  {
    rule: 'service/errors-are-documented',
    edits: {
      [`${create} responses 409`]: undefined,
      [`${create} responses 422`]: undefined
    },
    says: 'An Idempotency-Key can cause 409 and 422: add these responses'
  },
  {
    rule: 'service/deprecation-is-documented',
    edits: { [`${getPet} responses 200 headers Sunset`]: undefined },
    says: 'sends Sunset: add them to the headers'
  },
  {
    rule: 'service/deprecation-is-documented',
    edits: {
      ...deprecated,
      [`${list} x-deprecated-at`]: '2027-01-01',
      [`${list} x-successor`]: '/pets'
    },
    says: 'sends Deprecation, Link: add them to the headers'
  },
  {
    rule: 'rule/code-samples-are-files',
    edits: { [`${list} x-codeSamples`]: [] },
    says: 'such as samples/listPets.py'
  },
  {
    rule: 'rule/status-is-exact',
    edits: { [`${list} responses default`]: serverError },
    says: 'instead of default or 4XX'
  },
  {
    rule: 'rule/status-is-exact',
    edits: { [`${list} responses 4XX`]: serverError },
    says: 'instead of default or 4XX'
  },
  {
    rule: 'rule/openapi-is-3-0',
    edits: { openapi: '3.1.0' },
    says: 'Write openapi: 3.0.3'
  },
  {
    rule: 'rule/operation-id-is-identifier',
    edits: { [`${list} operationId`]: 'get-stations' },
    says: 'camelCase, such as listCategories'
  },

  {
    rule: 'rule/one-server-is-path',
    edits: { servers: [{ url: 'https://api.petstore.example/v1' }] }
  },
  {
    rule: 'rule/one-server-is-path',
    edits: { servers: [{ url: '/v1' }, { url: '/v2' }] }
  },
  {
    rule: 'rule/one-server-is-path',
    edits: {
      servers: [{ url: 'https://api.petstore.example' }, { url: '/v1' }]
    }
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
    rule: 'service/keyword-is-supported',
    edits: { [`${name} not`]: { enum: ['Dog'] } },
    says: 'not: write what is allowed'
  },
  {
    rule: 'service/keyword-is-supported',
    edits: { [`${schemas} Category discriminator`]: { propertyName: 'name' } },
    says: 'discriminator: write an operation for each kind'
  },
  {
    rule: 'service/keyword-is-supported',
    edits: { [`${schemas} Category properties id readOnly`]: true },
    says: 'readOnly: write two schemas, such as NewCategory and Category'
  },
  {
    rule: 'service/keyword-is-supported',
    edits: { [`${name} writeOnly`]: true },
    says: 'writeOnly: write two schemas'
  },
  {
    rule: 'service/keyword-is-supported',
    edits: { [`${orderQuantity} exclusiveMinimum`]: true },
    says: 'exclusiveMinimum: write minimum'
  },
  {
    rule: 'service/keyword-is-supported',
    edits: { [`${orderQuantity} exclusiveMaximum`]: true },
    says: 'exclusiveMaximum: write maximum'
  },
  {
    rule: 'service/format-is-known',
    edits: { [`${name} format`]: 'iso-country-code' },
    says: 'does not check the format iso-country-code of the type string: use byte, date'
  },
  {
    rule: 'service/format-is-known',
    edits: { [`${orderQuantity} format`]: 'uuid' },
    says: 'use int32, int64, or a pattern'
  },
  {
    rule: 'service/format-is-known',
    edits: {
      [`${schemas} Order properties complete format`]: 'date'
    },
    says: 'use no format'
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
    rule: 'service/response-is-serializable',
    edits: {
      [`${created} schema`]: {
        oneOf: [{ $ref: '#/components/schemas/Category' }]
      }
    }
  },
  {
    rule: 'service/response-is-serializable',
    edits: { [`${schemas} Category properties name type`]: undefined }
  },

  {
    rule: 'service/request-is-bounded',
    edits: { [`${schemas} NewMessage additionalProperties`]: undefined }
  },
  {
    rule: 'service/response-is-serializable',
    edits: { [`${schemas} Message additionalProperties`]: false }
  }
]

const config = await loadConfig({ configPath: 'redocly.yaml' })
const openapi = readFileSync('openapi.yaml', 'utf8')
const redocly = readFileSync('redocly.yaml', 'utf8')

/** What is reported in openapi.yaml after the edits. */
const problemsOf = (edits: Edits) =>
  lintFromString({
    source: edit(openapi, edits),
    absoluteRef: 'openapi.yaml',
    config
  })

t.test('openapi.yaml has no problems', async (t) => {
  t.same(await problemsOf({}), [])
})

/** What is no fault. */
const accepted: Record<string, Edits> = {
  'a deprecation without dates': deprecated,
  'a deprecation with a sunset': {
    ...deprecated,
    [`${list} x-sunset`]: '2026-07-01',
    [`${list} responses 200 headers Sunset`]: sunset
  },
  'a date-time with a limit in a query': {
    [header]: {
      ...query,
      schema: { type: 'string', format: 'date-time', maxLength: 40 }
    }
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
    t.same(await problemsOf(edits), [])
  })
}

for (const { rule, edits, says = '' } of faults) {
  t.test(`${rule} reports ${Object.keys(edits).join(', ')}`, async (t) => {
    const problems = await problemsOf(edits)
    const messages = problems
      .filter(({ ruleId }) => ruleId === rule)
      .map(({ message }) => message)

    const isReported = messages.some((message) => message.includes(says))
    t.ok(isReported, messages.join('\n'))
  })
}

t.test('a known format is checked by the validator', (t) => {
  const checked = new Set<string>(formatNames)
  for (const format of Object.values(formats).flat())
    t.ok(checked.has(String(format)), String(format))
  t.end()
})

t.test('each assertion has a message that says what to do', (t) => {
  const { rules } = parse(redocly) as {
    rules: Record<string, { message?: string }>
  }
  for (const [rule, { message }] of Object.entries(rules)) {
    if (!rule.startsWith('rule/')) continue
    t.match(message ?? '', /\b(Write|Add|Use|Leave out|Check)\b/, rule)
  }
  t.end()
})

t.test('every rule of redocly.yaml has a fault that it reports', (t) => {
  const own = redocly.match(/(rule|service)\/[a-z0-9-]+/g) ?? []
  const tested = new Set(faults.map(({ rule }) => rule))
  t.same(
    own.filter((rule) => !tested.has(rule)),
    []
  )
  t.end()
})
