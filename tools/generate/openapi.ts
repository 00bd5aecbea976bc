// How generators and tests read an OpenAPI document. They rely on the rules of
// tools/contract/lint/redocly.yaml, which `npm run check` applies.
import {
  type ApiDocument,
  operationsOf as operationsIn
} from '../../src/framework/openapi/document.ts'

/** The parts of a schema that generated code depends on. */
export interface Schema {
  $ref?: string
  type?: string
  format?: string
  nullable?: boolean
  default?: unknown
  maximum?: number
  items?: Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
}

/** What `x-request` changes in the first request of the operation. */
export interface RequestExtension {
  /** Of an example that several operations share: the one that is called. */
  operationId?: string
  path?: Record<string, unknown>
  query?: Record<string, string | string[]>
  headers?: Record<string, string>
  body?: unknown
}

type Examples = Record<
  string,
  { value: unknown; 'x-request'?: RequestExtension }
>

interface Parameter {
  name: string
  in: string
  required?: boolean
  schema?: Schema
  example?: unknown
  examples?: Examples
}

/** A response or the body of a request. */
export interface Message {
  headers?: Record<string, { example?: unknown }>
  content?: { 'application/json'?: { schema?: Schema; examples?: Examples } }
}

/** An operation, without references to other components than schemas. */
interface Operation {
  operationId: string
  /** As in `GET /pets`. */
  request: string
  deprecated?: boolean
  parameters?: Parameter[]
  requestBody?: Message
  responses: [status: string, Message][]
}

type Described = Omit<Operation, 'request' | 'responses'> & {
  responses?: Record<string, Message>
}

/** The operations, in the order of the document. */
export function operationsOf({
  document
}: Pick<ApiDocument, 'document'>): Operation[] {
  const resolve = (_key: string, value: unknown): unknown =>
    isReference(value)
      ? JSON.parse(JSON.stringify(targetOf(value.$ref, document)), resolve)
      : value

  return operationsIn(document).map(({ method, path, operation }) => {
    const described = JSON.parse(
      JSON.stringify(operation),
      resolve
    ) as Described
    return {
      ...described,
      request: `${method} ${path}`,
      responses: Object.entries(described.responses ?? {})
    }
  })
}

/** What a reference to a component leads to. */
export function targetOf(reference: string, document: object): unknown {
  const [file, ...names] = reference.split('/')
  const target = names.reduce<unknown>(
    (node, name) => (node as Record<string, unknown> | undefined)?.[name],
    document
  )
  if (file !== '#' || target === undefined)
    throw new Error(`openapi.yaml: nothing is at the reference ${reference}`)

  return target
}

/** What a reference to a schema begins with. */
export const schemasPath = '#/components/schemas/'

/** References to schemas stay: generated code has the names of schemas. */
const isReference = (value: unknown): value is { $ref: string } =>
  typeof value === 'object' &&
  value !== null &&
  '$ref' in value &&
  !String(value.$ref).startsWith(schemasPath)
