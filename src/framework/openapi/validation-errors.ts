import type { DefinedError, ErrorObject } from 'ajv'
import type { Schema } from './numbers.ts'

/** How messages name the types of JSON. */
const typeNames: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string'
}

/** The pattern of openapi.yaml for text that PostgreSQL can store. */
const withoutNul = String.raw`^[^\x00]*$`

/**
 * Describes a value and the rule that it breaks, such as
 * `body.name must not be empty`.
 *
 * @param error an error of Ajv, with its option `verbose`
 * @param root the name of the whole value, such as `body`; may be empty
 */
export function describeSchemaError(error: ErrorObject, root: string): string {
  const { parentSchema = {} }: { parentSchema?: object } = error
  // The parameters of a known keyword have the types of a DefinedError.
  const rule = ruleOf(error as DefinedError, parentSchema, root)
  return `${root}${pathOf(error)} ${rule}`.replace(/^[. ]/, '')
}

/** `/items/0/name` as `.items[0].name`. */
function pathOf({ instancePath }: ErrorObject): string {
  const steps = instancePath.split('/').slice(1)
  const path = steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')

  // The escapes of a JSON pointer (RFC 6901, section 4).
  return path.replaceAll('~1', '/').replaceAll('~0', '~')
}

function ruleOf(error: DefinedError, schema: Schema, root: string): string {
  if (schema['x-must'] !== undefined) return `must ${schema['x-must']}`
  const { keyword, params } = error
  switch (keyword) {
    case 'type':
      return typeRule(params.type, error.data)
    case 'required':
      return `must have the property "${params.missingProperty}"`
    case 'additionalProperties':
      return unknownNameRule(params.additionalProperty, schema, root)
    case 'enum':
      return `must be one of: ${params.allowedValues.join(', ')}`
    case 'pattern':
      return patternRule(params.pattern)
    case 'format':
      return `must have the format ${params.format}`
    default:
      return limitRule(error) ?? String(error.message)
  }
}

/** What the keywords of a size count, such as `minLength`. */
const units: Record<string, string> = {
  Length: 'characters',
  Items: 'items',
  Properties: 'properties'
}

function limitRule({ keyword, params }: ErrorObject): string | undefined {
  const [, bound, kind] = /^(min|max)(\w+)$/.exec(keyword) ?? []
  if (keyword === 'multipleOf')
    return `must be a multiple of ${params[keyword]}`
  if (kind === undefined) return undefined

  const limit = `at ${bound === 'min' ? 'least' : 'most'} ${params['limit']}`
  const unit = units[kind]
  if (unit === undefined) return `must be ${limit}`
  return limit === 'at least 1'
    ? 'must not be empty'
    : `must have ${limit} ${unit}`
}

function typeRule(type: string, data: unknown): string {
  if (type === 'integer' && typeof data === 'bigint')
    return `must be within ±${Number.MAX_SAFE_INTEGER}`
  if (type === 'number' && typeof data === 'number')
    return `must be within ±${Number.MAX_VALUE}`

  return `must be ${String(typeNames[type])}`
}

function patternRule(pattern: string): string {
  return pattern === withoutNul
    ? 'must not contain NUL (U+0000)'
    : `must match the pattern ${pattern}`
}

function unknownNameRule(
  name: string,
  { properties = {} }: Schema,
  root: string
): string {
  const kind = root === 'query' ? 'parameter' : 'property'
  const names = Object.keys(properties).join(', ')
  const allowed = names === '' ? ' none' : `: ${names}`
  return `must not have the ${kind} "${name}"; it may have${allowed}`
}
