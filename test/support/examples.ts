// The examples of openapi.yaml, and the requests that they describe.
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import {
  type Message,
  operationsOf,
  type RequestExtension
} from '../../tools/generate/openapi.ts'

const apiDocument = readApiDocument(api.openapiFile)
/** The OpenAPI document of this API, the path it serves, and its scopes. */
export const { document, basePath, scopes } = apiDocument

/** The headers of HTTP, and those that `info.description` documents. */
const generalHeaders = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'cache-control',
  'content-security-policy',
  'ratelimit',
  'ratelimit-policy',
  'vary',
  'x-content-type-options',
  'x-request-id'
]

/** The operations, in the order of the OpenAPI document. */
export const operations = operationsOf(apiDocument)

type Operation = (typeof operations)[number]

/** The JSON content of a request or response. */
const jsonOf = (message?: Message) => message?.content?.['application/json']

/** The examples of the responses of an operation. */
export const responseExamples = ({ responses }: Operation) =>
  responses.flatMap(([status, response]) =>
    Object.entries(jsonOf(response)?.examples ?? {}).map(
      ([name, { value, 'x-request': request }]) => ({
        name,
        request,
        response: { status: Number(status), body: value }
      })
    )
  )

/** Names and values; without examples, one undefined value without a name. */
function alternatives(
  examples: Record<string, { value: unknown }> = {}
): [name: string, value: unknown][] {
  const all = Object.entries(examples)
  return all.length === 0
    ? [['', undefined]]
    : all.map(([name, { value }]) => [name, value])
}

type Parameter = NonNullable<Operation['parameters']>[number]

/** The examples of a parameter, by their names. */
const valuesOf = ({ example, examples }: Parameter) =>
  alternatives(examples ?? { '': { value: example } })

/** The first example of each parameter in the path. */
const idsOf = ({ parameters = [] }: Operation) =>
  Object.fromEntries(
    parameters
      .filter((one) => one.in === 'path')
      .map((one) => [one.name, valuesOf(one)[0]?.[1]])
  )

/** The examples of a body, or undefined for an operation without one. */
export const bodiesOf = ({ requestBody }: Operation) =>
  alternatives(jsonOf(requestBody)?.examples)

/** The first request of an operation, with these changes. */
export function requestOf(
  operation: Operation,
  { path: values, query, headers, body }: RequestExtension = {}
): InjectOptions {
  const [method, path = ''] = operation.request.split(' ')
  const ids = { ...idsOf(operation), ...values }
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(ids[name]))
  )
  const payload = (body ?? bodiesOf(operation)[0]?.[1]) as object | undefined

  return {
    method: method as HTTPMethods,
    url: basePath + url,
    // In lower case, as `inject` needs it to replace a header.
    headers: Object.fromEntries(new Headers(headers)),
    query: { ...query },
    ...(payload !== undefined && { payload })
  }
}

/**
 * Each example of the last parameter in the path with each of a body. The
 * response is expected whose example has the name of the parameter's, or else
 * any success.
 */
function namedRequests(operation: Operation) {
  const { operationId, parameters = [] } = operation
  const last = parameters.findLast((one) => one.in === 'path')
  const ids = last === undefined ? alternatives() : valuesOf(last)
  const responses = responseExamples(operation)

  return ids.flatMap(([idName, id]) =>
    bodiesOf(operation).map(([bodyName, body]) => ({
      title: `${operationId} ${idName} ${bodyName}`,
      request: requestOf(operation, {
        path: { [last?.name ?? '']: id },
        body
      }),
      expected: responses.find(({ name }) => name === idName)?.response
    }))
  )
}

/**
 * The requests of the examples of an operation, in the order of the OpenAPI
 * document: those above, and those of responses with `x-request`.
 */
export function requestsOf(operation: Operation) {
  const { operationId } = operation
  const extended = responseExamples(operation).flatMap(
    ({ name, request, response }) =>
      request && (request.operationId ?? operationId) === operationId
        ? {
            title: `${operationId} ${response.status} ${name}`,
            request: requestOf(operation, request),
            expected: response
          }
        : []
  )

  return [...namedRequests(operation), ...extended]
}

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

/** Checks the status, headers, Content-Type and schema of a response. */
export function checkDocumented(
  t: Test,
  operationId: string,
  response: { statusCode: number; headers: object; body: string }
): void {
  const { statusCode: status, headers, body } = response
  const operation = operations.find((one) => one.operationId === operationId)
  const [, documented] =
    operation?.responses.find(([one]) => one === String(status)) ?? []
  const known = Object.keys(documented?.headers ?? {})
    .map((name) => name.toLowerCase())
    .concat(generalHeaders)
  const unknown = Object.keys(headers).filter((name) => !known.includes(name))
  t.ok(documented, `the status ${status} is documented`)
  t.same(unknown, [], 'its headers are documented')
  if (body === '') return

  t.match(headers, { 'content-type': 'application/json; charset=utf-8' })
  const schema = { ...jsonOf(documented)?.schema }
  const { components } = document
  const isValid = ajv.validate({ ...schema, components }, JSON.parse(body))
  t.ok(isValid, ajv.errorsText())
}
