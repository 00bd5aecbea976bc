import { Ajv, type ErrorObject, type FuncKeywordDefinition } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from '../http/errors.ts'
import { parseNumber } from '../http/json-body.ts'
import { explain } from './validation-errors.ts'

interface Schema {
  type?: string
  format?: string
  minimum?: number | bigint
  maximum?: number | bigint
  nullable?: boolean
  items?: Schema
  properties?: Record<string, Schema>
}

/** The parts of a request, and how error messages name them. */
const parts = {
  body: 'body',
  params: 'path',
  querystring: 'query',
  headers: 'header'
}

const int64Range = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/** Ajv's `type: integer` rejects a bigint, so the keyword below replaces each int64 schema, at any depth. */
function useInt64(_key: string, value: unknown): unknown {
  const schema = value as Schema | null
  const isInt64 = schema?.type === 'integer' && schema.format === 'int64'
  return isInt64 ? { int64: { ...int64Range, ...schema } } : value
}

/** Accepts a number or a bigint, and converts it to a bigint. */
const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  validate(
    schema: Schema & typeof int64Range,
    data: unknown,
    _parentSchema: unknown,
    context?: DataValidationCxt
  ) {
    if (data === null) return schema.nullable === true
    if (typeof data !== 'bigint' && !Number.isSafeInteger(data)) return false
    const value = BigInt(data as bigint | number)
    if (context !== undefined)
      context.parentData[context.parentDataProperty] = value
    // A maximum of 2^63-1 in the OpenAPI document is rounded to 2^63.
    return (
      value >= schema.minimum &&
      value <= schema.maximum &&
      BigInt.asIntN(64, value) === value
    )
  },
  error: {
    message: ({ schema }: { schema: Schema }) =>
      `must be an integer from ${schema.minimum} to ${schema.maximum}`
  }
}

/** The text of a parameter that is converted, by type. Other text remains a string, which validation rejects. */
const formats: Record<string, RegExp> = {
  boolean: /^(true|false)$/,
  integer: /^-?\d+$/,
  number: /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/
}

function convert(value: unknown, { type = '', items = {} }: Schema): unknown {
  if (type === 'array')
    return [value].flat().map((item) => convert(item, items))
  if (typeof value !== 'string' || !formats[type]?.test(value)) return value
  return type === 'boolean' ? value === 'true' : parseNumber(value)
}

/**
 * Compiles a schema of the OpenAPI document to a validator. It adds defaults, makes each int64 a bigint, and converts
 * parameters from text; a body is otherwise left as it was sent.
 */
export const validatorCompiler: FastifySchemaCompiler<Schema> = ({
  schema,
  httpPart
}) => {
  const part = httpPart as keyof typeof parts
  // Not strict, because OpenAPI has keywords that JSON Schema lacks, such as example. The linter finds misspelled ones.
  const options = {
    strict: false,
    strictNumbers: true,
    logger: false,
    verbose: true,
    useDefaults: true
  } as const
  const ajv = new Ajv({ ...options, allErrors: true, keywords: [int64] })
  addFormats.default(ajv)
  const validate = ajv.compile(
    JSON.parse(JSON.stringify(schema), useInt64) as object
  )
  const { properties = {} } = schema
  const parameters = part === 'body' ? [] : Object.entries(properties)
  return (data: Record<string, unknown>) => {
    for (const [name, type] of parameters)
      if (data[name] !== undefined) data[name] = convert(data[name], type)
    if (validate(data)) return true
    const errors = (validate.errors as ErrorObject[]).slice(0, 10)
    return {
      error: badRequest(
        errors.map((error) => explain(error, parts[part])).join('; ')
      )
    }
  }
}
