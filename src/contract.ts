import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { type Deprecation, readDeprecation } from './deprecation.ts'
import { unescapePointer } from './explain.ts'

/** The methods that an OpenAPI 3.0 path item can hold and Fastify can route. */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

/** One operation of the document. */
export interface Operation {
  id: string
  method: string
  /** As the document spells it, without the base path: `/categories`. */
  path: string
  /** The security requirements in force, its own or else the document's: alternatives, each a set of schemes. */
  security: OpenAPIV3.SecurityRequirementObject[]
  requestBodyRequired: boolean
  /** Absent when it is not deprecated. */
  deprecation?: Deprecation
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
 * Reads openapi.yaml and checks what the generator and the service both rely on. That the document is
 * valid OpenAPI is checked by the lint and, at start, by fastify-openapi-glue.
 *
 * @throws Error that names the operation and what it must change
 */
export function readContract(file: URL | string = new URL('../openapi.yaml', import.meta.url)): Contract {
  const yaml = readFileSync(file)
  const json = JSON.stringify(parse(yaml.toString('utf8')))
  // Through JSON: an object that YAML's aliases put in two places is resolved by fastify-openapi-glue in one of them.
  const document = JSON.parse(json) as OpenAPIV3.Document
  const operations: Operation[] = []
  const responseHeaders = new Set<string>()
  for (const [path, item] of Object.entries(document.paths) as [string, OpenAPIV3.PathItemObject][]) {
    for (const method of methods) {
      const operation = item[method]
      if (operation === undefined) continue
      const parameters = mergeParameters(document, item.parameters, operation.parameters)
      operation.parameters = parameters
      operations.push(readOperation(document, path, method, operation, parameters))
      for (const response of Object.values(operation.responses)) {
        for (const name of Object.keys(resolve(document, response).headers ?? {})) responseHeaders.add(name)
      }
    }
    delete item.parameters
  }
  if (operations.some(({ deprecation }) => deprecation)) {
    for (const name of ['Deprecation', 'Sunset', 'Link']) responseHeaders.add(name)
  }
  const ids = operations.map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw new Error(`openapi.yaml: the operationId ${twice} is used twice`)
  return { yaml, json, document, basePath: basePath(document), operations, responseHeaders: [...responseHeaders] }
}

type Parameters = (OpenAPIV3.ReferenceObject | OpenAPIV3.ParameterObject)[]

function readOperation(
  document: OpenAPIV3.Document,
  path: string,
  method: string,
  operation: OpenAPIV3.OperationObject,
  parameters: Parameters
): Operation {
  const name = `${method.toUpperCase()} ${path}`
  const id = operation.operationId
  if (id === undefined || !/^[A-Za-z_]\w*$/.test(id)) {
    throw new Error(`openapi.yaml: ${name} needs an operationId that is an identifier`)
  }
  if (/\{(?!\w+\})/.test(path)) {
    throw new Error(`openapi.yaml: ${name}: a path parameter is named with A-Z, a-z, 0-9 and _`)
  }
  for (const reference of parameters) {
    const { name: parameter, in: place, style, explode, schema } = resolve(document, reference)
    const isObject = schema !== undefined && resolve<OpenAPIV3.SchemaObject>(document, schema).type === 'object'
    if (schema === undefined || isObject || style !== undefined || explode === false || place === 'cookie') {
      throw new Error(
        `openapi.yaml: ${name}: the ${place} parameter ${parameter} must have a schema of a plain value or an array, in the default style`
      )
    }
  }
  const body = operation.requestBody && resolve<OpenAPIV3.RequestBodyObject>(document, operation.requestBody)
  if (body && Object.keys(body.content).join() !== 'application/json') {
    throw new Error(`openapi.yaml: ${name}: a request body is application/json and nothing else`)
  }
  const deprecation = readDeprecation(name, operation)
  return {
    id,
    method: method.toUpperCase(),
    path,
    security: operation.security ?? document.security ?? [],
    requestBodyRequired: body?.required ?? false,
    ...(deprecation && { deprecation })
  }
}

/**
 * The parameters of a path item and of its operation in one list, the operation's first choice:
 * fastify-openapi-glue drops the path item's where the operation has some of the same kind.
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

/** The object that a local `$ref` (RFC 6901 pointer) names, or the object itself. */
export function resolve<T extends object>(document: OpenAPIV3.Document, object: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in object)) return object
  const target = object.$ref
    .replace(/^#\//, '')
    .split('/')
    .map(unescapePointer)
    .reduce<unknown>((node, part) => (Object(node) as Record<string, unknown>)[part], document)
  if (target === undefined) throw new Error(`openapi.yaml: ${object.$ref} does not exist`)
  return resolve(document, target as T)
}

function basePath({ servers }: OpenAPIV3.Document): string {
  const url = servers?.[0]?.url
  if (!url?.startsWith('/')) {
    throw new Error(
      'openapi.yaml: the first server must be a path such as /v1: the deployment that serves the document'
    )
  }
  return url.replace(/\/$/, '')
}
