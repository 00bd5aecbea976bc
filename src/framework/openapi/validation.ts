import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from '../errors.ts'
import { int64, replaceInt64, type Schema } from './int64.ts'
import { parameterConverter, withLowerCaseNames } from './parameters.ts'

const maxReportedErrors = 10

const ajv = new Ajv({
  // OpenAPI has keywords that JSON Schema lacks, such as example. The linter
  // finds misspelt ones.
  strict: false,
  strictNumbers: true,
  logger: false,
  verbose: true,
  useDefaults: true,
  allErrors: true,
  // Recursive schemas have one $id in fastify-openapi-glue.
  addUsedSchema: false,
  keywords: [int64]
})
addFormats.default(ajv)

/**
 * Compiles a schema of the OpenAPI document to a validator of a part of a
 * request. It adds defaults, makes each int64 a bigint, and converts parameters
 * from text. A body is otherwise left as it was sent.
 */
export const validatorCompiler: FastifySchemaCompiler<Schema> = ({
  schema,
  method,
  httpPart
}) => {
  switch (httpPart) {
    case 'body':
      return validator(schema, 'body')
    case 'headers':
      return headerValidator(schema, String(method))
    case 'params':
      return parameterValidator(schema, 'path')
    default:
      // Otherwise, a misspelt filter would be lost silently.
      return parameterValidator(
        { ...schema, additionalProperties: false },
        'query'
      )
  }
}

type Parameters = Record<string, unknown>

function parameterValidator(schema: Schema, part: string) {
  const validate = validator(schema, part)
  const convert = parameterConverter(schema.properties ?? {})

  return (parameters: Parameters) => {
    convert(parameters)
    return validate(parameters)
  }
}

const unsupported = {
  not: {},
  'x-must': 'not be sent: the operation does not support it'
}

/**
 * Rejects conditions of a request that an operation does not evaluate. To
 * ignore them would let a request take effect that its client has forbidden.
 *
 * They are the preconditions of RFC 9110, section 13.1, that compare an ETag,
 * and the Idempotency-Key, which means "only once". The other preconditions
 * compare a modification date. This service has no such dates, so it ignores
 * these preconditions.
 */
function headerValidator(schema: Schema, method: string) {
  // Without an ETag, no tag matches: If-None-Match does not prevent a read.
  const isRead = ['GET', 'HEAD'].includes(method)
  const conditions = {
    'if-match': unsupported,
    'idempotency-key': unsupported,
    ...(!isRead && { 'if-none-match': unsupported })
  }
  const known = withLowerCaseNames(schema)

  return parameterValidator(
    { ...known, properties: { ...conditions, ...known.properties } },
    'header'
  )
}

/** @param part what messages call the whole value */
function validator(schema: Schema, part: string) {
  const validate: ValidateFunction = ajv.compile(replaceInt64(schema))

  return (value: unknown) => {
    if (validate(value)) return true
    const errors = validate.errors as ErrorObject[]
    const messages = errors
      .slice(0, maxReportedErrors)
      .map((error) => describe(error, part))
    return { error: badRequest([...new Set(messages)].join('; ')) }
  }
}

/** Describes a value and its rule, such as `body.name must be string`. */
function describe(error: ErrorObject, part: string): string {
  const value = part + error.instancePath.replaceAll('/', '.')
  // Only a parameter of the query can be repeated.
  const { type } = error.parentSchema as Schema
  if (part === 'query' && Array.isArray(error.data) && type !== 'array')
    return `${value} must be sent once`

  // Many clients send null for what they have no value for.
  const isNull = error.data === null && error.keyword !== 'enum'
  const hint = isNull ? ', not null: leave it out if it is optional' : ''
  return `${value} ${ruleOf(error, part)}${hint}`
}

/** Ajv names neither the properties nor the values that it allows. */
function ruleOf(error: ErrorObject, part: string): string {
  const { keyword, params, data, message } = error
  const schema = error.parentSchema as Schema

  if (schema['x-must'] !== undefined) return `must ${schema['x-must']}`
  if (keyword === 'enum')
    return `must be one of: ${(params['allowedValues'] as unknown[]).join(', ')}`
  if (keyword === 'const') return `must be ${String(params['allowedValue'])}`
  if (keyword === 'additionalProperties') {
    const known = Object.keys({ ...schema.properties }).join(', ')
    const unknown = String(params['additionalProperty'])
    return `must not have "${unknown}"; it may have ${known || 'none'}`
  }
  if (keyword === 'required' && part !== 'body')
    return `must have the parameter "${params['missingProperty']}"`
  // A client takes an integer of any size for an integer.
  const isNumeric = /integer|number/.test(String(params['type']))
  if (isNumeric && typeof data === 'bigint')
    return `must be within ±${Number.MAX_SAFE_INTEGER}`

  return String(message)
}
