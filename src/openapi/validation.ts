import { Ajv, type ErrorObject, type FuncKeywordDefinition } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from '../http/errors.ts'
import { parseNumber } from '../http/json-body.ts'
import { explain } from '../schema-errors.ts'

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
const parts = { body: 'body', params: 'path', querystring: 'query', headers: 'header' }

/** A keyword whose value is an int64 schema. Accepts a number or a bigint, and converts it to a bigint. */
const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  validate(schema: Schema, data: unknown, _parentSchema: unknown, context?: DataValidationCxt) {
    const { minimum = -(2n ** 63n), maximum = 2n ** 63n, nullable = false } = schema
    if (data === null) return nullable
    if (typeof data !== 'bigint' && !Number.isSafeInteger(data)) return false
    const value = BigInt(data as bigint | number)
    if (context !== undefined) context.parentData[context.parentDataProperty] = value
    return BigInt.asIntN(64, value) === value && value >= minimum && value <= maximum
  },
  error: {
    message: ({ schema: { minimum = -(2n ** 63n), maximum = 2n ** 63n - 1n } }: { schema: Schema }) =>
      `must be an integer from ${minimum} to ${maximum}`
  }
}

/** Ajv's `type: integer` rejects a bigint, so the keyword replaces each int64 schema, at any depth. */
function useInt64(_key: string, value: unknown): unknown {
  const schema = value as Schema | null
  return schema?.type === 'integer' && schema.format === 'int64' ? { int64: schema } : value
}

/**
 * Compiles a schema of the OpenAPI document to a validator. It adds defaults, makes each int64 a bigint, and converts
 * parameters from text; a body is otherwise left as it was sent.
 */
export const validatorCompiler: FastifySchemaCompiler<Schema> = ({ schema, httpPart }) => {
  const part = httpPart as keyof typeof parts
  // Not strict, because OpenAPI has keywords that JSON Schema lacks, such as example. The linter finds misspelled ones.
  const options = { strict: false, strictNumbers: true, logger: false, verbose: true, useDefaults: true } as const
  const ajv = new Ajv({ ...options, allErrors: true })
  addFormats.default(ajv)
  ajv.addKeyword(int64)
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema), useInt64) as object)
  return (data: unknown) => {
    if (part !== 'body') convertParameters(data as Record<string, unknown>, schema)
    if (validate(data)) return true
    const errors = (validate.errors as ErrorObject[]).slice(0, 10)
    const messages = errors.map((error) => explain(error, parts[part]))
    return { error: badRequest(messages.join('; ')) }
  }
}

/** The text that is converted, by type. Other text remains a string, which validation rejects. */
const formats: Record<string, RegExp> = {
  boolean: /^(true|false)$/,
  integer: /^-?\d+$/,
  number: /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/
}

/** Gives each parameter the type of its schema. */
function convertParameters(values: Record<string, unknown>, { properties = {} }: Schema): void {
  for (const [name, schema] of Object.entries(properties)) {
    if (values[name] !== undefined) values[name] = convert(values[name], schema)
  }
}

function convert(value: unknown, { type = '', items = {} }: Schema): unknown {
  if (type === 'array') return [value].flat().map((item) => convert(item, items))
  if (typeof value !== 'string' || !formats[type]?.test(value)) return value
  return type === 'boolean' ? value === 'true' : parseNumber(value)
}
