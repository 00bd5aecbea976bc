import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { deprecationHeaders } from './deprecation.ts'
import { documentError, operationName, parseDocument, resolve, type Schema, schemasIn } from './document.ts'

/** The methods that an OpenAPI 3.0 path item can hold and Fastify can route. */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

/** One operation of the OpenAPI document. */
export interface Operation {
  id: string
  method: string
  /** As the document spells it, without the base path: `/categories`. */
  path: string
  /** The security schemes that a request must satisfy; empty when the operation is open. */
  security: string[]
  requestBodyRequired: boolean
  /** The headers of its responses that announce its deprecation; empty when it is not deprecated. */
  deprecation: Record<string, string>
}

/** openapi.yaml, the one source of routes, types, validation and documentation. */
export interface Contract {
  /** The file, byte for byte. */
  yaml: Buffer
  /** The same document as JSON. */
  json: string
  /** The same document, each operation holding the parameters of its path item. */
  document: OpenAPIV3.Document
  /** The path of the first server: the prefix of every route. */
  basePath: string
  operations: Operation[]
  /** The names of all headers that its responses have, those of a deprecation included. */
  responseHeaders: string[]
}

/**
 * Reads openapi.yaml and rejects what the service could not serve as the document describes it.
 *
 * @throws Error with one line that names the operation and what it must change
 */
export function readContract(file: URL | string = new URL('../openapi.yaml', import.meta.url)): Contract {
  const yaml = readFileSync(file)
  const document = parseDocument(yaml.toString('utf8'))
  const json = JSON.stringify(document)
  const operations: Operation[] = []
  const responseHeaders = new Set<string>()
  for (const [path, item] of Object.entries(document.paths) as [string, OpenAPIV3.PathItemObject][]) {
    if (item.$ref !== undefined) throw documentError(`${path} must not be a $ref`)
    for (const method of methods) {
      const operation = item[method]
      if (operation === undefined) continue
      operation.parameters = mergeParameters(document, item.parameters, operation.parameters)
      const read = readOperation(document, path, method, operation)
      if (operations.some(({ id }) => id === read.id)) throw documentError(`the operationId ${read.id} is used twice`)
      operations.push(read)
      for (const response of Object.values(operation.responses)) {
        for (const name of Object.keys(resolve(document, response).headers ?? {})) responseHeaders.add(name)
      }
      for (const name of Object.keys(read.deprecation)) responseHeaders.add(name)
    }
    delete item.parameters
  }
  return { yaml, json, document, basePath: basePath(document), operations, responseHeaders: [...responseHeaders] }
}

function readOperation(
  document: OpenAPIV3.Document,
  path: string,
  method: string,
  operation: OpenAPIV3.OperationObject
): Operation {
  const name = operationName(method, path)
  const id = operation.operationId
  if (id === undefined || !/^[A-Za-z_]\w*$/.test(id)) {
    throw documentError(`${name}: the operationId must be an identifier`)
  }
  checkParameters(document, name, path, operation)
  const body = operation.requestBody && resolve<OpenAPIV3.RequestBodyObject>(document, operation.requestBody)
  if (body) checkRequest(document, name, body)
  for (const [status, response] of Object.entries(operation.responses)) {
    checkResponse(document, `${name}: the response ${status}`, resolve(document, response))
  }
  return {
    id,
    method: method.toUpperCase(),
    path,
    security: schemesOf(name, operation.security ?? document.security ?? []),
    requestBodyRequired: body?.required ?? false,
    deprecation: deprecationHeaders(name, operation)
  }
}

function schemesOf(name: string, requirements: OpenAPIV3.SecurityRequirementObject[]): string[] {
  const alternatives = requirements.map((requirement) => Object.keys(requirement))
  if (alternatives.some((schemes) => schemes.length === 0)) return []
  if (alternatives.length > 1) throw documentError(`${name}: alternative security requirements are not supported`)
  return alternatives.flat()
}

function checkParameters(
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

function checkRequest(document: OpenAPIV3.Document, name: string, { content }: OpenAPIV3.RequestBodyObject): void {
  const schema = schemaOf(`${name}: the request body`, content)
  if ([...schemasIn(document, schema)].some((one) => 'discriminator' in one)) {
    throw documentError(`${name}: the request body has a discriminator, which the validator ignores`)
  }
}

function checkResponse(document: OpenAPIV3.Document, name: string, { content }: OpenAPIV3.ResponseObject): void {
  if (content === undefined || Object.keys(content).length === 0) return
  const root = schemaOf(name, content)
  for (const schema of schemasIn(document, root)) {
    const keyword = ['oneOf', 'anyOf', 'discriminator'].find((one) => one in schema)
    if (keyword !== undefined) {
      throw documentError(`${name} has ${keyword}, with which the serializer loses properties and rejects int64`)
    }
    const { properties = {}, additionalProperties = false } = schema
    const items = 'items' in schema ? schema.items : (schema.type as string | undefined) === 'array'
    // The serializer writes a value of any type by JSON.stringify, which throws for a bigint.
    if ([root, ...Object.values(properties), additionalProperties, items].some((value) => isOpen(document, value))) {
      throw documentError(`${name} has a value without a type, in which an int64 cannot be serialized`)
    }
  }
}

function isOpen(document: OpenAPIV3.Document, schema: Schema | boolean): boolean {
  if (typeof schema === 'boolean') return schema
  const resolved = resolve<OpenAPIV3.SchemaObject>(document, schema)
  return !['type', 'enum', 'properties', 'allOf', 'anyOf', 'oneOf'].some((keyword) => keyword in resolved)
}

/** The schema of a body, which is JSON and nothing else. */
function schemaOf(place: string, content: Record<string, OpenAPIV3.MediaTypeObject>): Schema {
  const schema = content['application/json']?.schema
  if (schema === undefined || Object.keys(content).length > 1) {
    throw documentError(`${place} must have a schema for application/json and no other media type`)
  }
  return schema
}

type Parameters = (OpenAPIV3.ReferenceObject | OpenAPIV3.ParameterObject)[]

/**
 * The parameters of a path item and of its operation in one list. The operation's own parameter replaces one of the same
 * name: fastify-openapi-glue drops those of the path item where the operation has some of the same kind.
 */
function mergeParameters(document: OpenAPIV3.Document, shared: Parameters = [], own: Parameters = []): Parameters {
  const key = (parameter: Parameters[number]) => {
    const { in: place, name } = resolve(document, parameter)
    return `${place} ${name}`
  }
  const ownKeys = new Set(own.map(key))
  const inherited = shared.filter((parameter) => !ownKeys.has(key(parameter)))
  return [...inherited.map((parameter) => structuredClone(parameter)), ...own]
}

function basePath({ servers }: OpenAPIV3.Document): string {
  const url = servers?.[0]?.url
  if (!url?.startsWith('/')) {
    throw documentError('the first server must be a path such as /v1: the deployment that serves the document')
  }
  return url.replace(/\/$/, '')
}
