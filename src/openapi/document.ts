import { Validator } from '@seriousme/openapi-schema-validator'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { explain, unescapePointer } from '../schema-errors.ts'

declare module '@seriousme/openapi-schema-validator' {
  interface Validator {
    /** Missing from its types: the JSON Schema of an OpenAPI version, compiled. */
    getAjvValidator(version: '3.0'): ValidateFunction
  }
}

/** The validator that fastify-openapi-glue runs too, which prints its findings as many lines of JSON. */
const isOpenAPI = new Validator({ verbose: true }).getAjvValidator('3.0')

/** An error that reports a fault in openapi.yaml in one line. */
export const documentError = (message: string) => new Error(`openapi.yaml: ${message}`)

/** How errors name an operation: `GET /pets/{petId}`. */
export const operationName = (method: string, path: string) => `${method.toUpperCase()} ${path}`

/**
 * Parses the text of an OpenAPI 3.0 document. Its structure is valid and each `$ref` has a target.
 *
 * @throws Error with one line that names the place of the first fault
 */
export function parseDocument(yaml: string): OpenAPIV3.Document {
  const document = parseYaml(yaml)
  if (!isOpenAPI(document)) {
    // Each alternative of a oneOf reports errors. The deepest one is the nearest to the fault.
    const [error] = [...(isOpenAPI.errors as ErrorObject[])].sort((a, b) => depth(b) - depth(a)) as [ErrorObject]
    // Without the list of the properties of its schema, which may be a hundred and lack those with a pattern.
    throw documentError(explain({ ...error, instancePath: '', parentSchema: {} }, placeOf(error.instancePath)))
  }
  checkReferences(document as OpenAPIV3.Document, document, '')
  return document as OpenAPIV3.Document
}

function parseYaml(yaml: string): unknown {
  try {
    // Through JSON: an object that YAML aliases put in two places is resolved by fastify-openapi-glue in one of them.
    return JSON.parse(JSON.stringify(parse(yaml)))
  } catch (error) {
    // The rest of the message is an excerpt of the file.
    const [line = ''] = (error as Error).message.split('\n')
    throw documentError(line.replace(/:$/, ''))
  }
}

const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length

/** A JSON pointer as errors show it: `GET /pets: responses.200`. */
function placeOf(pointer: string): string {
  const parts = pointer.split('/').slice(1).map(unescapePointer)
  const [first, path = '', method = '', ...rest] = parts
  const isOperation = first === 'paths' && /^(get|put|post|delete|options|head|patch|trace)$/.test(method)
  return isOperation ? `${operationName(method, path)}: ${rest.join('.')}`.trimEnd() : parts.join('.')
}

function checkReferences(document: OpenAPIV3.Document, node: unknown, pointer: string): void {
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') {
      try {
        resolve(document, { $ref: value })
      } catch (error) {
        throw documentError(`${placeOf(pointer)} ${(error as Error).message}`)
      }
    }
    checkReferences(document, value, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

/**
 * The object that a local `$ref` (RFC 6901 pointer) names, or the object itself.
 *
 * @throws Error when the `$ref` leads nowhere, to another file, or back to itself
 */
export function resolve<T extends object>(
  document: OpenAPIV3.Document,
  object: T | OpenAPIV3.ReferenceObject,
  from: string[] = []
): T {
  if (!('$ref' in object)) return object
  const { $ref } = object
  if (from.includes($ref)) throw new Error(`has a $ref that leads back to itself: ${$ref}`)
  const target = $ref
    .replace(/^#\//, '')
    .split('/')
    .map(unescapePointer)
    .reduce<unknown>((node, part) => (Object(node) as Record<string, unknown>)[part], document)
  if (typeof target !== 'object' || target === null) throw new Error(`has a $ref without a target: ${$ref}`)
  return resolve(document, target as T, [...from, $ref])
}

export type Schema = OpenAPIV3.SchemaObject | OpenAPIV3.ReferenceObject

/** The schema and all schemas in it, each resolved and given once, also when it holds itself. */
export function schemasIn(
  document: OpenAPIV3.Document,
  root: Schema,
  found = new Set<OpenAPIV3.SchemaObject>()
): Set<OpenAPIV3.SchemaObject> {
  const schema = resolve<OpenAPIV3.SchemaObject>(document, root)
  if (found.has(schema)) return found
  found.add(schema)
  const { properties = {}, additionalProperties, not, allOf = [], anyOf = [], oneOf = [] } = schema
  const items = 'items' in schema ? schema.items : undefined
  for (const part of [...Object.values(properties), additionalProperties, items, not, ...allOf, ...anyOf, ...oneOf]) {
    if (typeof part === 'object') schemasIn(document, part, found)
  }
  return found
}
