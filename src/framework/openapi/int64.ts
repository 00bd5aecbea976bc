import type { FuncKeywordDefinition } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'

/** What this folder reads of a schema in the OpenAPI document. */
export interface Schema {
  type?: string
  format?: string
  minimum?: number
  maximum?: number
  nullable?: boolean
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  default?: unknown
  additionalProperties?: boolean
  /** The rule of the schema in its own words: `must ...`. */
  'x-must'?: string
}

type Int64 = Omit<Schema, 'minimum' | 'maximum'> & {
  minimum: number | bigint
  maximum: number | bigint
}

const range = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/**
 * Returns a copy of a schema in which the keyword `int64` replaces each int64,
 * at any depth: the parser of bodies and parameters returns an integer beyond
 * 2^53 as a bigint, which Ajv accepts neither as `integer` nor as `number`.
 */
export function replaceInt64(schema: Schema): Record<string, unknown> {
  if (schema.type === 'integer' && schema.format === 'int64') {
    if ('enum' in schema) throw new Error('an int64 cannot have an enum')
    const { 'x-must': must, default: value } = schema
    return {
      'x-must': must,
      // Ajv adds it as a number, before the keyword makes it a bigint.
      ...(value !== undefined && { default: value }),
      int64: { ...range, ...schema }
    }
  }

  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema))
    copy[keyword] = replaceInKeyword(value)

  return copy
}

/** @param value the value of a keyword, which may contain schemas */
function replaceInKeyword(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaceInKeyword)
  const isObject = typeof value === 'object' && value !== null
  return isObject ? replaceInt64(value) : value
}

/** Accepts a number or a bigint, and makes it a bigint. */
export const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  validate(
    schema: Int64,
    data: unknown,
    _parentSchema: unknown,
    context?: DataValidationCxt
  ) {
    if (data === null) return schema.nullable === true
    if (!Number.isSafeInteger(data) && typeof data !== 'bigint') return false

    const value = BigInt(data as number | bigint)
    if (context !== undefined)
      context.parentData[context.parentDataProperty] = value
    const isInRange = value >= schema.minimum && value <= schema.maximum

    // YAML rounds a maximum of 2^63-1 in the OpenAPI document to 2^63.
    return isInRange && BigInt.asIntN(64, value) === value
  },
  error: {
    message: ({ schema }: { schema: Int64 }) =>
      `must be an integer from ${schema.minimum} to ${schema.maximum}`
  }
}
