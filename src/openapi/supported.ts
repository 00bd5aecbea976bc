// What OpenAPI allows and the libraries of the service do not support. Each check throws an error of one line.
import type { OpenAPIV3 } from 'openapi-types'
import { documentError, resolve, type Schema, schemasIn } from './document.ts'

/** The security schemes of an operation. Alternatives are rejected: a scheme that is passed over would be an open door. */
export function schemesOf(name: string, requirements: OpenAPIV3.SecurityRequirementObject[]): string[] {
  const alternatives = requirements.map((requirement) => Object.keys(requirement))
  if (alternatives.some((schemes) => schemes.length === 0)) return []
  if (alternatives.length > 1) throw documentError(`${name}: alternative security requirements are not supported`)
  return alternatives.flat()
}

/** Rejects a path that the router takes for another one, and parameters that the validator could not read. */
export function checkParameters(
  document: OpenAPIV3.Document,
  name: string,
  path: string,
  { parameters = [] }: OpenAPIV3.OperationObject
): void {
  // To Fastify's router a colon begins a parameter and an asterisk is a wildcard.
  if (/[:*]|\{(?!\w+\})/.test(path)) {
    throw documentError(`${name}: a path parameter is named with A-Z, a-z, 0-9 and _, and a path has no : and no *`)
  }
  const declared: string[] = []
  for (const reference of parameters) {
    const { name: parameter, in: place, style, explode, schema } = resolve(document, reference)
    if (place === 'path') declared.push(parameter)
    const isObject = schema !== undefined && resolve<OpenAPIV3.SchemaObject>(document, schema).type === 'object'
    if (schema === undefined || isObject || style !== undefined || explode === false || place === 'cookie') {
      throw documentError(
        `${name}: the ${place} parameter ${parameter} must have a schema of a plain value or an array, in the default style`
      )
    }
  }
  const [inPath, given] = [[...path.matchAll(/(?<=\{)\w+/g)].flat(), declared].map((names) => names.sort().join(', '))
  if (inPath !== given) {
    throw documentError(`${name}: the path has the parameters "${inPath}", the operation declares "${given}"`)
  }
}

/** Rejects a request body that the validator would not check as it is documented. */
export function checkRequest(
  document: OpenAPIV3.Document,
  name: string,
  { content }: OpenAPIV3.RequestBodyObject
): void {
  const schema = schemaOf(`${name}: the request body`, content)
  if ([...schemasIn(document, schema)].some((one) => 'discriminator' in one)) {
    throw documentError(`${name}: the request body has a discriminator, which the validator ignores`)
  }
}

/** Rejects a response body that the serializer would not write as it is documented. */
export function checkResponse(document: OpenAPIV3.Document, name: string, { content }: OpenAPIV3.ResponseObject): void {
  if (content === undefined || Object.keys(content).length === 0) return
  const root = schemaOf(name, content)
  for (const schema of schemasIn(document, root)) {
    const keyword = ['oneOf', 'anyOf', 'discriminator'].find((one) => one in schema)
    if (keyword !== undefined) {
      throw documentError(`${name} has ${keyword}, with which the serializer loses properties and rejects int64`)
    }
    const { properties = {}, additionalProperties = false } = schema
    const items = 'items' in schema ? schema.items : (schema.type as string | undefined) === 'array'
    for (const value of [root, ...Object.values(properties), additionalProperties, items]) {
      // The serializer writes a value of any type by JSON.stringify, which throws for a bigint.
      if (isOpen(document, value)) {
        throw documentError(`${name} has a value without a type, in which an int64 cannot be serialized`)
      }
      const missing = typeof value === 'object' ? undeclared(document, value) : undefined
      if (missing !== undefined) {
        throw documentError(`${name} requires "${missing}", which the serializer drops: it is not among the properties`)
      }
    }
  }
}

function isOpen(document: OpenAPIV3.Document, schema: Schema | boolean): boolean {
  if (typeof schema === 'boolean') return schema
  return partsOf(document, schema).every(
    (part) => !['type', 'properties', 'anyOf', 'oneOf'].some((keyword) => keyword in part)
  )
}

/** A required property that is not among those of the schema. */
function undeclared(document: OpenAPIV3.Document, schema: Schema): string | undefined {
  const parts = partsOf(document, schema)
  if (parts.some(({ additionalProperties }) => additionalProperties)) return undefined
  const declared = new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)))
  return parts.flatMap(({ required = [] }) => required).find((one) => !declared.has(one))
}

/** The schema and those that allOf adds to it. */
function partsOf(document: OpenAPIV3.Document, schema: Schema): OpenAPIV3.SchemaObject[] {
  const resolved = resolve<OpenAPIV3.SchemaObject>(document, schema)
  return [resolved, ...(resolved.allOf ?? []).flatMap((part) => partsOf(document, part))]
}

/** The schema of a body, which is JSON and nothing else. */
function schemaOf(place: string, content: Record<string, OpenAPIV3.MediaTypeObject>): Schema {
  const schema = content['application/json']?.schema
  if (schema === undefined || Object.keys(content).length > 1) {
    throw documentError(`${place} must have a schema for application/json and no other media type`)
  }
  return schema
}
