import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { explain } from '../schema-errors.ts'
import { badRequest } from '../http/errors.ts'
import { fromText, int64, uniqueItems } from './keywords.ts'

/** The parts of a request that the document has schemas for, and how a message names them. */
const names = { body: 'body', params: 'path', querystring: 'query', headers: 'header' }

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
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems)
  return ({ schema, httpPart }) => {
    const part = httpPart as keyof typeof names
    const validate = ajv.compile(prepare(part === 'headers' ? lowerCaseNames(schema) : schema, part))
    return (data: unknown) => {
      if (validate(data)) return true
      // Fastify gives null for a body that is not there.
      const isNoBody = data === null && part === 'body'
      const [error] = validate.errors as [ErrorObject]
      return { error: badRequest(explain(error, names[part]) + (isNoBody ? ' or left out' : '')) }
    }
  }
}

/** HTTP field names are case-insensitive and Node gives them in lower case. */
function lowerCaseNames(schema: Schema): Schema {
  const { properties, required = [] } = schema as { properties: Schema; required?: string[] }
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name.toLowerCase(), property])
    ),
    required: required.map((name) => name.toLowerCase())
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
  const text = { fromText: type === 'array' && part !== 'querystring' ? 'list' : type }
  // Ajv fills in a default that stands beside allOf, not one in it.
  const { default: value, ...bare } = typed as Schema
  return { allOf: [text, bare], ...(value !== undefined && { default: value }) }
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

function mapValues(object: Record<string, unknown>, change: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}
