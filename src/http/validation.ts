import { Ajv, type DefinedError, type ErrorObject, type FuncKeywordDefinition } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from './errors.ts'

/** The parts of a request that the document has schemas for, and how a message names them. */
const parts: Record<string, string> = { body: 'body', params: 'path', querystring: 'query', headers: 'header' }

/**
 * Compiles the document's schemas to validators that change nothing a client sent. Path, query and header parameters
 * arrive as text and take their schema's type; an int64 becomes a bigint, wherever it stands.
 */
export function validatorCompiler(): FastifySchemaCompiler<Schema> {
  // OpenAPI 3.0 has keywords that JSON Schema lacks (example, xml); the document's lint finds misspelt ones.
  const ajv = new Ajv({ strict: false, logger: false, verbose: true, useDefaults: true })
  addFormats.default(ajv)
  ajv.addKeyword(fromText)
  ajv.addKeyword(int64)
  return ({ schema, httpPart = 'body' }) => {
    const validate = ajv.compile(prepare(httpPart === 'headers' ? lowerCaseNames(schema) : schema, httpPart))
    const name = parts[httpPart] ?? httpPart
    return (data: unknown) => validate(data) || { error: badRequest(explain(validate.errors?.[0], name)) }
  }
}

/** Says which value breaks which rule: `body.name must have at least 1 character`. */
export function explain(error: ErrorObject | undefined, root: string): string {
  if (error === undefined) return `${root} is not valid`
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
  const place = `${root}${path}`.replace(/^\./, '')
  return `${place} ${rule(error as DefinedError)}`.trimStart()
}

function rule(error: DefinedError): string {
  switch (error.keyword) {
    case 'required':
      return `must have the property "${error.params.missingProperty}"`
    case 'additionalProperties': {
      const known = Object.keys((error.parentSchema?.['properties'] ?? {}) as object)
      return `must not have the property "${error.params.additionalProperty}"; it may have: ${known.join(', ')}`
    }
    case 'type':
      if (typeof error.data === 'bigint')
        return `must be within ±${Number.MAX_SAFE_INTEGER}: beyond, it could not be kept exactly`
      return `must be ${article(String(error.params.type))}, not ${kind(error.data)}`
    case 'minLength':
      return `must have at least ${count(error.params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${count(error.params.limit, 'character')}`
    case 'enum':
      return `must be one of: ${error.params.allowedValues.join(', ')}`
    case 'pattern':
      return `must match the pattern ${error.params.pattern}`
    default:
      return (error as ErrorObject).message ?? 'is not valid'
  }
}

const count = (limit: number, noun: string) => `${limit} ${noun}${limit === 1 ? '' : 's'}`
const article = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)

function kind(data: unknown): string {
  if (data === null) return 'null'
  if (typeof data === 'string') return JSON.stringify(data.length > 40 ? `${data.slice(0, 40)}…` : data)
  return article(Array.isArray(data) ? 'array' : typeof data)
}

/** HTTP field names are case-insensitive and Node gives them in lower case. */
function lowerCaseNames(schema: Schema): Schema {
  const properties = Object.entries(schema['properties'] as Record<string, unknown>)
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([name, property]) => [name.toLowerCase(), property])),
    required: ((schema['required'] ?? []) as string[]).map((name) => name.toLowerCase())
  }
}

type Schema = Record<string, unknown>

/**
 * The schema with `int64` in the place of each `type: integer, format: int64`, with exclusive bounds as numbers
 * (OpenAPI 3.0 has booleans), and, in a part that is text, with `fromText` before each type.
 */
function prepare(schema: Schema, part: string): Schema {
  const prepareAny = (value: unknown) => (isSchema(value) ? prepare(value, part) : value)
  const { type, format, ...rest } = schema
  for (const keyword of ['items', 'not', 'additionalProperties']) {
    if (keyword in rest) rest[keyword] = prepareAny(rest[keyword])
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    if (keyword in rest) rest[keyword] = (rest[keyword] as unknown[]).map(prepareAny)
  }
  if (isSchema(rest['properties'])) rest['properties'] = mapValues(rest['properties'], prepareAny)
  for (const bound of ['Minimum', 'Maximum']) {
    if (rest[`exclusive${bound}`] === true) rest[`exclusive${bound}`] = rest[bound.toLowerCase()]
    else if (rest[`exclusive${bound}`] === false) delete rest[`exclusive${bound}`]
  }
  const isText = part !== 'body'
  if (type === 'integer' && format === 'int64') {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, enum: values, nullable, ...others } = rest
    return {
      ...others,
      int64: { isText, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, values, nullable }
    }
  }
  const typed = { ...rest, ...(type !== undefined && { type }), ...(format !== undefined && { format }) }
  if (!isText || !['integer', 'number', 'boolean', 'array'].includes(type as string)) return typed
  // The default styles of OpenAPI: a query repeats the parameter, a path or header separates by commas.
  return { allOf: [{ fromText: type === 'array' && part !== 'querystring' ? 'list' : type }, typed] }
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

function mapValues(object: Record<string, unknown>, change: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}

/** Turns the text of a parameter into the type of its schema; text that is not of the type stays and fails it. */
const fromText: FuncKeywordDefinition = {
  keyword: 'fromText',
  modifying: true,
  errors: false,
  validate: (type: string, data: unknown, _schema: unknown, context) => {
    if (context !== undefined) context.parentData[context.parentDataProperty] = convert(type, data)
    return true
  }
}

function convert(type: string, data: unknown): unknown {
  if (typeof data !== 'string') return data
  if (type === 'array') return [data]
  if (type === 'list') return data.split(',').map((item) => item.trim())
  if (type === 'boolean') return data === 'true' ? true : data === 'false' ? false : data
  const isNumber = type === 'integer' ? /^-?\d+$/.test(data) : /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(data)
  const number = Number(data)
  if (!isNumber || !Number.isFinite(number)) return data
  return type === 'integer' && !Number.isSafeInteger(number) ? BigInt(data) : number
}

interface Int64Rules {
  isText: boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  values?: number[]
  nullable?: boolean
}

/** A whole number of 64 bits, from text, number or bigint, kept exactly: it becomes a bigint. */
const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  compile: (rules: Int64Rules) => {
    const validate: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (data: unknown, context) => {
      if (data === null && rules.nullable) return true
      const value = toBigInt(data, rules.isText)
      const message = value === undefined ? 'must be a whole number of 64 bits' : brokenRule(rules, value)
      validate.errors = message === undefined ? [] : [{ keyword: 'int64', message, params: {} }]
      if (context !== undefined && value !== undefined) context.parentData[context.parentDataProperty] = value
      return message === undefined
    }
    return validate
  }
}

function toBigInt(data: unknown, isText: boolean): bigint | undefined {
  const isWhole =
    typeof data === 'bigint' ||
    Number.isSafeInteger(data) ||
    (isText && typeof data === 'string' && /^-?\d+$/.test(data))
  if (!isWhole) return undefined
  const value = BigInt(data as bigint | number | string)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

function brokenRule(rules: Int64Rules, value: bigint): string | undefined {
  if (rules.minimum !== undefined && value < rules.minimum) return `must be >= ${rules.minimum}`
  if (rules.maximum !== undefined && value > rules.maximum) return `must be <= ${rules.maximum}`
  if (rules.exclusiveMinimum !== undefined && value <= rules.exclusiveMinimum)
    return `must be > ${rules.exclusiveMinimum}`
  if (rules.exclusiveMaximum !== undefined && value >= rules.exclusiveMaximum)
    return `must be < ${rules.exclusiveMaximum}`
  if (rules.multipleOf !== undefined && value % BigInt(rules.multipleOf) !== 0n)
    return `must be multiple of ${rules.multipleOf}`
  if (rules.values !== undefined && !rules.values.some((one) => BigInt(one) === value))
    return `must be one of: ${rules.values.join(', ')}`
  return undefined
}
