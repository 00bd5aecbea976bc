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

interface Example {
  name: string
  value: unknown
  request: RequestExtension | undefined
}

/** A response of an operation. */
interface DocumentedResponse {
  status: number
  /** The names of its headers, in lower case. */
  headers: string[]
  schema: OpenAPIV3.MediaTypeObject['schema']
  examples: Example[]
  /** The name in `components/responses`, if operations share it. */
  component: string | undefined
}

/** An operation with its examples. */
export interface ExampleOperation {
  id: string
  method: HTTPMethods
  path: string
  /** By the names of the parameters in the path. */
  pathExamples: Map<string, Example[]>
  bodies: Example[]
  responses: DocumentedResponse[]
}

/** A request, and the example of its response. */
export interface ExampleRequest {
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

type Examples = OpenAPIV3.MediaTypeObject['examples']

const examplesOf = (examples: Examples = {}): Example[] =>
  Object.entries(examples).map(([name, reference]) => {
    const example = resolve<ExampleObject>(reference)
    const value = example.value as unknown

    return { name, value, request: example['x-request'] }
  })

const json = (message: { content?: OpenAPIV3.RequestBodyObject['content'] }) =>
  message.content?.['application/json']

function responseOf([status, reference]: [
  string,
  OpenAPIV3.ResponseObject | OpenAPIV3.ReferenceObject
]): DocumentedResponse {
  const { headers = {}, ...response } = resolve(reference)
  const content = json(response)
  const component = '$ref' in reference ? reference.$ref : undefined

  return {
    status: Number(status),
    headers: Object.keys(headers).map((name) => name.toLowerCase()),
    schema: content?.schema,
    examples: examplesOf(content?.examples),
    component: component?.replace('#/components/responses/', '')
  }
}

function operationOf(
  path: string,
  method: HTTPMethods,
  operation: OpenAPIV3.OperationObject
): ExampleOperation {
  const parameters = (operation.parameters ?? [])
    .map((parameter) => resolve(parameter))
    .filter((parameter) => parameter.in === 'path')
  const body = operation.requestBody && json(resolve(operation.requestBody))

  return {
    id: String(operation.operationId),
    method,
    path,
    pathExamples: new Map(
      parameters.map(({ name, examples }) => [name, examplesOf(examples)])
    ),
    bodies: examplesOf(body?.examples),
    responses: Object.entries(operation.responses).map(responseOf)
  }
}

/** The operations, in the order of the OpenAPI document. */
export const operations: ExampleOperation[] = Object.entries(
  document.paths
).flatMap(([path, item = {}]) =>
  (Object.entries(item) as [HTTPMethods, OpenAPIV3.OperationObject][]).map(
    ([method, operation]) => operationOf(path, method, operation)
  )
)

/** Parts of a request, by the parts of `x-request`. */
type Parts = Omit<RequestExtension, 'operationId'>

/** As `inject` needs it to replace a header. */
const lowerCase = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  )

function requestOf(
  { method, path, pathExamples, bodies }: ExampleOperation,
  { path: ids = {}, query, headers = {}, body = bodies[0]?.value }: Parts
): InjectOptions {
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const id = ids[name] ?? pathExamples.get(name)?.[0]?.value

    return encodeURIComponent(String(id))
  })

  return {
    method,
    url: basePath + url,
    headers: lowerCase(headers),
    ...(query && { query }),
    ...(body !== undefined && { payload: body as object })
  }
}

/**
 * Each example of a path with each of a body. The example of the path has that
 * of the response with its name.
 */
function namedRequests(operation: ExampleOperation): ExampleRequest[] {
  const { id, pathExamples, bodies, responses } = operation
  const [[parameter, ids] = ['', []]] = pathExamples
  const paths = ids.length > 0 ? ids : [undefined]
  const payloads = bodies.length > 0 ? bodies : [undefined]

  return paths.flatMap((one) => {
    const expected = responses
      .flatMap(({ status, examples }) =>
        examples.map(({ name, value }) => ({ name, status, body: value }))
      )
      .find(({ name }) => name === one?.name)

    return payloads.map((body) => ({
      operation,
      title: [id, one?.name, body?.name].filter(Boolean).join(' '),
      request: requestOf(operation, {
        ...(one && { path: { [parameter]: one.value } }),
        body: body?.value
      }),
      expected: expected && { status: expected.status, body: expected.body }
    }))
  })
}

/** The requests of the examples of responses with `x-request`. */
function extensionRequests(operation: ExampleOperation): ExampleRequest[] {
  return operation.responses.flatMap(({ status, examples }) =>
    examples.flatMap(({ name, value, request }) => {
      const { operationId = operation.id, ...parts } = request ?? {}
      if (request === undefined || operationId !== operation.id) return []

      return {
        operation,
        title: `${operation.id} ${status} ${name}`,
        request: requestOf(operation, parts),
        expected: { status, body: value }
      }
    })
  )
}

/**
 * The requests of the examples of an operation, in the order of the OpenAPI
 * document.
 */
export const requestsOf = (operation: ExampleOperation): ExampleRequest[] => [
  ...namedRequests(operation),
  ...extensionRequests(operation)
]

/** The requests of all operations. */
export const exampleRequests = operations.flatMap(requestsOf)
