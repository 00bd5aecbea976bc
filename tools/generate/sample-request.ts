// What the code samples of an operation send, by the examples of the OpenAPI
// document.
import type { OpenAPIV3 } from 'openapi-types'
import type {
  ApiDocument,
  Operation
} from '../../src/framework/openapi/document.ts'
import { operationsOf, targetOf } from './openapi.ts'

type Document = OpenAPIV3.Document
type OperationObject = OpenAPIV3.OperationObject
type Parameter = OpenAPIV3.ParameterObject

/** A request that succeeds, and what its response has. */
export interface SampleRequest {
  /** In upper case. */
  method: string
  /** Absolute, with its query. */
  url: string
  needsApiKey: boolean
  needsIdempotencyKey: boolean
  /** The value of the JSON body; undefined without a body. */
  body: unknown
  /** The status of the success. */
  status: number
  hasResponseBody: boolean
}

/** What can have examples: a parameter or a body. */
interface Exemplified {
  example?: unknown
  examples?: OpenAPIV3.MediaTypeObject['examples']
}

/** The OpenAPI document lacks what a code sample needs. */
export class MissingExample extends Error {}

/**
 * The request of an operation's samples: the first example of the body, of each
 * path parameter, and of each required query parameter.
 *
 * @throws MissingExample if the OpenAPI document lacks one of them
 */
export function sampleRequestOf(
  { document }: ApiDocument,
  { id, method, path, security, headers }: Operation
): SampleRequest {
  const operation = operationsOf(document).find(
    ({ operationId }) => operationId === id
  )
  if (operation === undefined) throw new Error(`there is no operation ${id}`)

  const examples = new Examples(document, operation)

  return {
    method,
    url: serverOf(document) + examples.path(path) + examples.query(),
    needsApiKey: security.length > 0,
    needsIdempotencyKey: headers.includes('idempotency-key'),
    body: examples.body(),
    ...successOf(document, operation)
  }
}

/** The base URL of the first server that has an absolute one. */
function serverOf({ servers = [] }: Document): string {
  const absolute = servers.map(withDefaults).find((url) => /^https?:/.test(url))
  if (absolute === undefined) {
    throw new MissingExample(
      'openapi.yaml: code samples need a server with a host'
    )
  }
  return absolute.replace(/\/$/, '')
}

function withDefaults({ url, variables = {} }: OpenAPIV3.ServerObject): string {
  return url.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    String(variables[name]?.default)
  )
}

function successOf(
  document: Document,
  { operationId, responses }: OperationObject
) {
  const success = Object.entries(responses).find(([status]) =>
    status.startsWith('2')
  )
  if (success === undefined) {
    throw new MissingExample(
      `openapi.yaml: the code samples of ${operationId} need a 2xx response`
    )
  }

  const [status, described] = success
  const response = targetOf(described, document.components?.responses)

  return {
    status: Number(status),
    hasResponseBody: response !== undefined && 'content' in response
  }
}

/** The first example of each part of an operation's request. */
class Examples {
  readonly #document: Document
  readonly #operation: OperationObject
  readonly #parameters: Parameter[]

  constructor(document: Document, operation: OperationObject) {
    this.#document = document
    this.#operation = operation
    this.#parameters = (operation.parameters ?? []).flatMap(
      (parameter) => targetOf(parameter, document.components?.parameters) ?? []
    )
  }

  /** @param template such as `/pets/{petId}` */
  path(template: string): string {
    return template.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
      const parameter = this.#parameters.find(
        (candidate) => candidate.in === 'path' && candidate.name === name
      )
      return encodeURIComponent(String(this.#first(name, parameter)))
    })
  }

  /** Empty, or the required parameters after a question mark. */
  query(): string {
    const query = new URLSearchParams()
    const required = this.#parameters.filter(
      (parameter) => parameter.in === 'query' && parameter.required
    )
    for (const parameter of required) {
      const values = [this.#first(parameter.name, parameter)].flat()
      for (const value of values) query.append(parameter.name, String(value))
    }

    return query.size === 0 ? '' : `?${query.toString()}`
  }

  body(): unknown {
    const { requestBody } = this.#operation
    if (requestBody === undefined) return undefined

    const bodies = this.#document.components?.requestBodies
    const content = targetOf(requestBody, bodies)?.content

    return this.#first('the body', content?.['application/json'])
  }

  #first(name: string, { example, examples = {} }: Exemplified = {}): unknown {
    const [first = {}] = Object.values(examples)
    const named = targetOf(first, this.#document.components?.examples)
    const value: unknown = named?.value ?? example
    if (value !== undefined) return value

    const { operationId } = this.#operation
    throw new MissingExample(
      `openapi.yaml: the code samples of ${operationId} need ` +
        `an example of ${name}`
    )
  }
}
