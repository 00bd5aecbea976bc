import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from '../errors.ts'

/** More errors of a request are not reported. */
const maxErrors = 10

/** What this file reads of a schema for parameters. */
interface Schema {
  properties?: Record<string, { type?: string } | boolean>
  additionalProperties?: boolean
  type?: string
  minimum?: number
  maximum?: number
}

const ajv = new Ajv({
  // OpenAPI has keywords that JSON Schema lacks, such as example.
  strict: false,
  logger: false,
  // For the names of the properties that are allowed.
  verbose: true,
  useDefaults: true,
  allErrors: true
})
addFormats.default(ajv)
// Every int64 of the document has a lower maximum.
ajv.addFormat('int64', true)

/**
 * Compiles a schema of the OpenAPI document to a validator of a part of a
 * request. It adds defaults, and converts the text of integer parameters to
 * numbers. A body is otherwise left as it was sent.
 */
export const validatorCompiler: FastifySchemaCompiler<Schema> = ({
  schema,
  method,
  httpPart
}) => {
  switch (httpPart) {
    case 'body':
      return makeValidator(schema, 'body')
    case 'headers':
      return makeValidator(headerSchema(schema, method), 'header')
    case 'params':
      return makeParameterValidator(schema, 'path')
    default:
      // Otherwise, a misspelt filter would be lost silently.
      return makeParameterValidator(
        { ...schema, additionalProperties: false },
        'query'
      )
  }
}

/**
 * The schema of headers, with their names in lower case as Node.js has them.
 *
 * It rejects headers that set a condition which the operation does not
 * evaluate: to ignore the condition could let a request take effect against the
 * will of its client. These are If-Match and If-None-Match (RFC 9110, section
 * 13.1), and Idempotency-Key, which means "only once". Other preconditions
 * compare a modification date, which nothing here has.
 */
function headerSchema({ properties = {} }: Schema, method: unknown): Schema {
  const documented = Object.entries(properties).map(
    ([name, property]) => [name.toLowerCase(), property] as const
  )
  // Without an ETag, no tag matches: If-None-Match does not prevent a read.
  const isRead = method === 'GET' || method === 'HEAD'
  return {
    properties: {
      'if-match': false,
      'if-none-match': isRead,
      'idempotency-key': false,
      ...Object.fromEntries(documented)
    }
  }
}

/** One text for each integer. Ajv would also convert `01`, `0x1` and `1e0`. */
const integerPattern = /^(0|-?[1-9]\d*)$/

function makeParameterValidator(schema: Schema, part: string) {
  const validate = makeValidator(schema, part)
  const integers = Object.entries(schema.properties ?? {})
    .filter(([, one]) => typeof one === 'object' && one.type === 'integer')
    .map(([name]) => name)

  return (parameters: Record<string, unknown>) => {
    for (const name of integers) {
      const text = parameters[name]
      if (typeof text === 'string' && integerPattern.test(text))
        parameters[name] = Number(text)
    }
    return validate(parameters)
  }
}

/** @param part what messages call the whole value */
function makeValidator(schema: Schema, part: string) {
  const validate = ajv.compile(schema)

  return (value: unknown) => {
    if (validate(value)) return true
    const messages = validate.errors
      ?.slice(0, maxErrors)
      .map((error) => describe(error, part))
    // A number below the range and with a fraction breaks one rule twice.
    return { error: badRequest([...new Set(messages)].join('; ')) }
  }
}

/** Describes a value and its rule, such as `body.name must be string`. */
const describe = (error: ErrorObject, part: string): string =>
  `${part}${error.instancePath.replaceAll('/', '.')} ${ruleOf(error)}`

/** Ajv names neither ranges nor the properties and values that it allows. */
function ruleOf({ keyword, params, parentSchema, message }: ErrorObject) {
  const { type, minimum, maximum, properties } = parentSchema as Schema
  if (type === 'integer' && minimum !== undefined && maximum !== undefined)
    return `must be an integer from ${minimum} to ${maximum}`
  switch (keyword) {
    case 'enum':
      return `must be one of: ${(params['allowedValues'] as string[]).join(', ')}`
    case 'additionalProperties': {
      const known = Object.keys({ ...properties }).join(', ') || 'none'
      return `must not have "${params['additionalProperty']}"; it may have ${known}`
    }
    case 'false schema':
      return 'must not be sent: the operation does not support it'
    default:
      return message
  }
}
