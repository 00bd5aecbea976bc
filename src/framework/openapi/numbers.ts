import type { FuncKeywordDefinition } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'

/** What this folder reads of a schema in the OpenAPI document. */
export interface Schema {
  type?: string
  format?: string
  default?: unknown
  minimum?: number
  maximum?: number
  nullable?: boolean
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  /** The rule of the schema in its own words: `must ...`. */
  'x-must'?: string
}

type Int64 = Omit<Schema, 'minimum' | 'maximum'> & {
  minimum: number | bigint
  maximum: number | bigint
}

const int64Range = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/**
 * JSON has numbers of any size. The parser of bodies and parameters returns an
 * integer beyond 2^53 as a bigint, which Ajv accepts neither as `integer` nor
 * as `number`. So this function returns a copy of a schema in which keywords of
 * our own handle them, at any depth:
 *
 * - An int64 becomes a bigint, whatever its size.
 * - Any other number becomes a double, rounded if necessary.
 */
export function replaceNumberSchemas(schema: Schema): Record<string, unknown> {
  const { type, format } = schema
  if (type === 'integer' && format === 'int64') {
    return {
      default: schema.default,
      'x-must': schema['x-must'],
      int64: { ...int64Range, ...schema }
    }
  }
  if (type === 'number')
    return { default: schema.default, allOf: [{ toDouble: true }, schema] }

  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema))
    copy[keyword] = replaceInKeyword(value)

  return copy
}

/** @param value the value of a keyword, which may contain schemas */
function replaceInKeyword(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaceInKeyword)
  const isObject = typeof value === 'object' && value !== null
  return isObject ? replaceNumberSchemas(value) : value
}

/** Accepts a number or a bigint, and makes it a bigint. */
const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  validate(
    schema: Int64,
    data: unknown,
    _parentSchema: unknown,
    context?: DataValidationCxt
  ) {
    if (data === null) return schema.nullable === true
    const value = toBigInt(data)
    if (value === undefined) return false

    replace(context, value)
    const isInRange = value >= schema.minimum && value <= schema.maximum

    // YAML rounds a maximum of 2^63-1 in the OpenAPI document to 2^63.
    return isInRange && BigInt.asIntN(64, value) === value
  },
  error: {
    message: ({ schema }: { schema: Int64 }) =>
      `must be an integer from ${schema.minimum} to ${schema.maximum}`
  }
}

/** Makes a bigint a number, and leaves everything else as it is. */
const toDouble: FuncKeywordDefinition = {
  keyword: 'toDouble',
  modifying: true,
  validate(
    _schema: true,
    data: unknown,
    _parentSchema: unknown,
    context?: DataValidationCxt
  ) {
    if (typeof data === 'bigint') replace(context, Number(data))
    return true
  }
}

export const numberKeywords = [int64, toDouble]

function toBigInt(data: unknown): bigint | undefined {
  if (typeof data === 'bigint') return data
  return Number.isSafeInteger(data) ? BigInt(Number(data)) : undefined
}

/** Puts a value in the place of the one that is being validated. */
function replace(
  context: DataValidationCxt | undefined,
  value: bigint | number
): void {
  if (context !== undefined)
    context.parentData[context.parentDataProperty] = value
}
