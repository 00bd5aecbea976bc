import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { deprecationHeaders } from './deprecation.ts'
import { documentError, operationName, parseDocument, resolve } from './document.ts'
import { checkParameters, checkRequest, checkResponse, schemesOf } from './supported.ts'

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
export function readContract(file: URL | string = new URL('../../openapi.yaml', import.meta.url)): Contract {
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
