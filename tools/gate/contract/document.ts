import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { resolve } from '../../../src/openapi/document.ts'

/** One operation of a document, with what it has from its path item and from the document. */
export interface DescribedOperation {
  id: string | undefined
  /** By place and name: `query limit`. */
  parameters: Map<string, OpenAPIV3.ParameterObject>
  requestBody: OpenAPIV3.RequestBodyObject | undefined
  /** By status. */
  responses: Map<string, OpenAPIV3.ResponseObject>
  security: OpenAPIV3.SecurityRequirementObject[]
  servers: OpenAPIV3.ServerObject[]
  /** The extension x-deprecated-at. */
  deprecatedAt: string | undefined
  /** The extension x-sunset. */
  sunset: string | undefined
}

/** Reads any OpenAPI 3.0 document: unlike readContract, also one that the service could not serve. */
export function readDocument(file: string): OpenAPIV3.Document {
  return parse(readFileSync(file, 'utf8')) as OpenAPIV3.Document
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

/** The operations of a document, by method and path: `GET /categories`. */
export function operationsOf(document: OpenAPIV3.Document): Map<string, DescribedOperation> {
  const operations = new Map<string, DescribedOperation>()
  for (const [path, item] of Object.entries(document.paths) as [string, OpenAPIV3.PathItemObject][]) {
    for (const method of methods) {
      const operation = item[method]
      if (operation === undefined) continue
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
        resolve(document, one)
      )
      const responses = Object.entries(operation.responses ?? {})
      operations.set(`${method.toUpperCase()} ${path}`, {
        id: operation.operationId,
        parameters: new Map(parameters.map((one) => [`${one.in} ${one.name}`, one])),
        requestBody: operation.requestBody && resolve(document, operation.requestBody),
        responses: new Map(responses.map(([status, response]) => [status, resolve(document, response)])),
        security: operation.security ?? document.security ?? [],
        servers: operation.servers ?? item.servers ?? document.servers ?? [],
        deprecatedAt: (operation as { 'x-deprecated-at'?: string })['x-deprecated-at'],
        sunset: (operation as { 'x-sunset'?: string })['x-sunset']
      })
    }
  }
  return operations
}
