// The examples of openapi.yaml, and the requests that get them.
import { readFileSync } from 'node:fs'
import type { HTTPMethods, InjectOptions } from 'fastify'
import { parse } from 'yaml'

/** What a request changes in the first request of its operation. */
interface RequestChange {
  path?: Record<string, unknown>
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: object
}

/**
 * The requests that get the examples of errors, by the names of the examples.
 * Each operation that has the example sends the request.
 */
const requestChangesByExample: Record<string, RequestChange> = {
  missingApiKey: { headers: { Authorization: '' } },
  invalidApiKey: { headers: { Authorization: 'Bearer x' } },
  missingName: { body: {} },
  missingMessage: { body: {} },
  misspelt: { body: { name: 'Cat', descripton: 'Purrs' } },
  unknownCategory: { body: { name: 'Bella', categoryId: 404 } },
  tooLarge: { body: { name: 'x'.repeat(65_536) } },
  unknownParameter: { query: { limit: '1' } },
  afterIsText: { query: { after: 'x' } },
  notAnId: { path: { petId: 'x' } }
}

type Examples = Record<string, { value: unknown }>

/** A response, or the body of a request. */
interface Message {
  content?: { 'application/json'?: { examples?: Examples } }
  headers?: Record<string, { description: string }>
}

interface Operation {
  operationId: string
  method: HTTPMethods
  path: string
  'x-scopes': string[]
  parameters?: { name: string; in: string; examples?: Examples }[]
  requestBody?: Message
  responses: Record<string, Message>
}

interface Document {
  info: { description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>
}

/** The OpenAPI document. */
export const document = parse(readFileSync('openapi.yaml', 'utf8')) as Document

/** Replaces a reference by what it leads to; those to schemas stay. */
function resolve(_key: string, value: unknown): unknown {
  const { $ref = '' } = { ...(value as { $ref?: string } | null) }
  if ($ref === '' || $ref.startsWith('#/components/schemas/')) return value
  const target = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (node, name) => (node as Record<string, unknown>)[name],
      document
    )
  return JSON.parse(JSON.stringify(target), resolve)
}

/** The operations, in the order of the document. */
export const operations = Object.entries(document.paths).flatMap(
  ([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      ...(JSON.parse(JSON.stringify(operation), resolve) as Operation),
      method: method.toUpperCase(),
      path
    }))
)

/** Every scope that an operation needs. */
export const scopes = [...new Set(operations.flatMap((one) => one['x-scopes']))]

/** The examples of a request or response. */
const examplesOf = (message?: Message) =>
  message?.content?.['application/json']?.examples

/** The examples of the responses of an operation. */
export const responseExamples = ({ responses }: Operation) =>
  Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(examplesOf(response) ?? {}).map(([name, { value }]) => ({
      name,
      response: { status: Number(status), body: value }
    }))
  )

/** Names and values; without examples, one undefined value without a name. */
function alternatives(examples: Examples = {}): [string, unknown][] {
  const all = Object.entries(examples)
  return all.length === 0
    ? [['', undefined]]
    : all.map(([name, { value }]) => [name, value])
}

const pathParametersOf = ({ parameters = [] }: Operation) =>
  parameters.filter((one) => one.in === 'path')

/** The examples of a body, or undefined for an operation without one. */
export const bodiesOf = ({ requestBody }: Operation) =>
  alternatives(examplesOf(requestBody))

/** The first request of an operation, with these changes. */
export function requestOf(
  operation: Operation,
  { path: values, query, headers, body }: RequestChange = {}
): InjectOptions {
  const ids = Object.fromEntries(
    pathParametersOf(operation).map(({ name, examples }) => [
      name,
      alternatives(examples)[0]?.[1]
    ])
  )
  const path = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    String({ ...ids, ...values }[name])
  )
  const payload = body ?? (bodiesOf(operation)[0]?.[1] as object | undefined)

  return {
    method: operation.method,
    url: `/v1${path}`,
    query: { ...query },
    headers: Object.fromEntries(new Headers(headers)),
    ...(payload && { payload })
  }
}

/**
 * Each example of the parameter in the path with each of a body. The response
 * is the example of the name that one of them has.
 */
function requestsOfNames(operation: Operation) {
  const [parameter] = pathParametersOf(operation)
  const responses = responseExamples(operation)

  return alternatives(parameter?.examples).flatMap(([name, id]) =>
    bodiesOf(operation).map(([bodyName, body]) => ({
      title: `${operation.operationId} ${name} ${bodyName}`,
      request: requestOf(operation, {
        path: { [parameter?.name ?? '']: id },
        ...(body !== undefined && { body: body as object })
      }),
      // A list without parameters has a single example.
      expected: (
        responses.find((one) => one.name === (name || bodyName)) ?? responses[0]
      )?.response
    }))
  )
}

/** All requests that get examples of an operation, with their responses. */
export function exampleCases(operation: Operation) {
  const errors = responseExamples(operation).flatMap(({ name, response }) => {
    const change = requestChangesByExample[name]
    return change === undefined
      ? []
      : {
          title: `${response.status} ${name}`,
          request: requestOf(operation, change),
          expected: response
        }
  })

  return [...requestsOfNames(operation), ...errors]
}
