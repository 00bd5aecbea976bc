// The examples of openapi.yaml, and the requests that they describe.
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'

export const { document, basePath } = readApiDocument(api.openapi)

/** The headers of HTTP, and those that `info.description` documents. */
export const generalHeaders = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'cache-control',
  'content-security-policy',
  'x-content-type-options'
]

/** What `x-request` changes in the first request of the operation. */
interface RequestExtension {
  /** Of an example that several operations share: the one that is called. */
  operationId?: string
  path?: Record<string, unknown>
  query?: Record<string, string | string[]>
  headers?: Record<string, string>
  body?: unknown
}

type ExampleObject = OpenAPIV3.ExampleObject & {
  'x-request'?: RequestExtension
}

/** An operation with its examples. */
export type ExampleOperation = ReturnType<typeof operationOf>

/** A request, and the example of its response. */
interface ExampleRequest {
  operation: ExampleOperation
  /** As in `getPet 404 unknown`. */
  title: string
  request: InjectOptions
  /** Undefined: any success. */
  expected: { status: number; body: unknown } | undefined
}

/** The object that a local `$ref` points to, or the object itself. */
export function resolve<T extends object>(
  object: T | OpenAPIV3.ReferenceObject
): T {
  if (!('$ref' in object)) return object
  const target = object.$ref.split('/').slice(1)

  return target.reduce<unknown>(
    (node, part) => (node as Record<string, unknown>)[part],
    document
  ) as T
}

type Content = OpenAPIV3.RequestBodyObject['content']
type Examples = OpenAPIV3.MediaTypeObject['examples']

const examplesOf = (examples: Examples = {}) =>
  Object.entries(examples).map(([name, reference]) => {
    const example = resolve<ExampleObject>(reference)
    const value = example.value as unknown

    return { name, value, request: example['x-request'] }
  })

const jsonOf = (message: { content?: Content } = {}) =>
  message.content?.['application/json']

function responseOf([status, reference]: [
  string,
  OpenAPIV3.ResponseObject | OpenAPIV3.ReferenceObject
]) {
  const { headers = {}, ...response } = resolve(reference)
  const json = jsonOf(response)
  const component = '$ref' in reference ? reference.$ref : undefined

  return {
    status: Number(status),
    /** Their names in lower case. */
    headers: Object.keys(headers).map((name) => name.toLowerCase()),
    schema: json?.schema,
    examples: examplesOf(json?.examples),
    /** The name in `components/responses`, if operations share it. */
    component: component?.replace('#/components/responses/', '')
  }
}

function operationOf(
  path: string,
  method: HTTPMethods,
  operation: OpenAPIV3.OperationObject
) {
  const parameters = operation.parameters ?? []
  const inPath = parameters
    .map((parameter) => resolve(parameter))
    .find((parameter) => parameter.in === 'path')
  const body = jsonOf(resolve(operation.requestBody ?? { content: {} }))

  return {
    id: String(operation.operationId),
    method,
    path,
    /** Of the parameter in the path. */
    ids: examplesOf(inPath?.examples),
    bodies: examplesOf(body?.examples),
    responses: Object.entries(operation.responses).map(responseOf)
  }
}

/** The operations, in the order of the OpenAPI document. */
export const operations = Object.entries(document.paths).flatMap(
  ([path, item = {}]) =>
    (Object.entries(item) as [HTTPMethods, OpenAPIV3.OperationObject][]).map(
      ([method, operation]) => operationOf(path, method, operation)
    )
)

function requestOf(
  { method, path, ids, bodies }: ExampleOperation,
  {
    path: values = {},
    query,
    headers = {},
    body = bodies[0]?.value
  }: RequestExtension
): InjectOptions {
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(values[name] ?? ids[0]?.value))
  )

  return {
    method,
    url: basePath + url,
    // In lower case, as `inject` needs it to replace a header.
    headers: Object.fromEntries(new Headers(headers)),
    ...(query && { query }),
    ...(body !== undefined && { payload: body as object })
  }
}

/**
 * Each example of a path with each of a body. The example of the path has that
 * of the response with its name.
 */
function namedRequests(operation: ExampleOperation): ExampleRequest[] {
  const [, parameter = ''] = /\{(\w+)\}/.exec(operation.path) ?? []
  const ids = operation.ids.length > 0 ? operation.ids : [undefined]
  const bodies = operation.bodies.length > 0 ? operation.bodies : [undefined]
  const expected = operation.responses.flatMap(({ status, examples }) =>
    examples.map(({ name, value }) => ({ name, status, body: value }))
  )

  return ids.flatMap((id) => {
    const response = expected.find(({ name }) => name === id?.name)

    return bodies.map((body) => ({
      operation,
      title: [operation.id, id?.name, body?.name].filter(Boolean).join(' '),
      request: requestOf(operation, {
        path: { [parameter]: id?.value },
        body: body?.value
      }),
      expected: response && { status: response.status, body: response.body }
    }))
  })
}

/** The requests of the examples of responses with `x-request`. */
const extensionRequests = (operation: ExampleOperation): ExampleRequest[] =>
  operation.responses.flatMap(({ status, examples }) =>
    examples
      .filter(
        ({ request }) =>
          request && (request.operationId ?? operation.id) === operation.id
      )
      .map(({ name, value, request = {} }) => ({
        operation,
        title: `${operation.id} ${status} ${name}`,
        request: requestOf(operation, request),
        expected: { status, body: value }
      }))
  )

/**
 * The requests of the examples of an operation, in the order of the OpenAPI
 * document.
 */
export const requestsOf = (operation: ExampleOperation): ExampleRequest[] => [
  ...namedRequests(operation),
  ...extensionRequests(operation)
]
