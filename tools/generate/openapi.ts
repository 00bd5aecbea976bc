// How the generators read an OpenAPI document.
import type { OpenAPIV3 } from 'openapi-types'

type Reference = OpenAPIV3.ReferenceObject

/**
 * What a `$ref` points to, or the object itself.
 *
 * @param shared the components of the same kind, by their names
 */
export function targetOf<T extends object>(
  object: T | Reference,
  shared: Record<string, T | Reference> = {}
): T | undefined {
  if (!isReference(object)) return object
  const name = object.$ref.slice(object.$ref.lastIndexOf('/') + 1)
  const target = shared[name]
  return target && targetOf(target, shared)
}

function isReference(object: object): object is Reference {
  return '$ref' in object
}

/** @param method in upper case */
export function operationAt(
  document: OpenAPIV3.Document,
  method: string,
  path: string
): OpenAPIV3.OperationObject | undefined {
  const name = method.toLowerCase() as OpenAPIV3.HttpMethods
  return document.paths[path]?.[name]
}

export function operationsOf(document: OpenAPIV3.Document) {
  return Object.values(document.paths).flatMap((item = {}) =>
    Object.values(item).filter(isOperation)
  )
}

function isOperation(value: unknown): value is OpenAPIV3.OperationObject {
  return typeof value === 'object' && value !== null && 'responses' in value
}
