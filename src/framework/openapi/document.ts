import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { messageOf } from '../message-of.ts'

/** Extensions for what OpenAPI has no fields for. */
interface Extensions {
  // See docs/versioning.md.
  'x-deprecated-at'?: string
  'x-sunset'?: string
  'x-successor'?: string
  /** What an API key must be allowed to do: see docs/security.md. */
  'x-scopes'?: string[]
}

/** Values by names in lower case. */
type Headers = Record<string, string>

type OperationObject = OpenAPIV3.OperationObject<Extensions>

/** The methods that a path item can have and Fastify can route. */
const methods = [
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch'
] as const

/** What the service uses of an operation. */
export interface ApiOperation {
  /** The operationId. */
  id: string
  /** Its method, in upper case. */
  method: string
  /** Its path in the OpenAPI document, such as `/pets/{petId}`. */
  path: string
  /** The names of its security schemes; empty if it needs no API key. */
  security: string[]
  /** The scopes that its API key must have. */
  scopes: string[]
  hasBody: boolean
  /** The headers that announce its deprecation. */
  deprecation: Headers
}

type Document = OpenAPIV3.Document<Extensions>
type Server = OpenAPIV3.ServerObject

/** What the service uses of openapi.yaml. */
export interface ApiDocument {
  /** The file, byte for byte. */
  yaml: Buffer
  json: string
  /** The document in the words of OpenAPI 3.0, even if the file is 3.1. */
  document: Document
  /** The servers of the OpenAPI document. The one that is a path is first. */
  servers: Server[]
  /**
   * The server that is a path, the prefix of every route: `/v1`. It is the
   * deployment that serves the OpenAPI document.
   */
  basePath: string
  /** A path to try with GET, of the first operation that allows it. */
  examplePath: string
  operations: ApiOperation[]
  /** The scopes of all operations, sorted. */
  scopes: string[]
}

/**
 * Reads an OpenAPI document. `npm run check` validates it; the service relies
 * on that.
 *
 * @throws Error of one line if the file is not YAML
 */
export function readApiDocument(file: URL | string): ApiDocument {
  const yaml = readFileSync(file)
  const json = JSON.stringify(parseYaml(yaml.toString(), file))
  const document = JSON.parse(json, withNullable) as Document
  // OpenAPI assumes this server of a document without any.
  const servers = pathFirst(document.servers ?? [{ url: '/' }])
  const basePath = String(servers[0]?.url).replace(/\/$/, '')
  const operations = readOperations(document)
  const scopes = new Set(operations.flatMap((operation) => operation.scopes))

  return {
    yaml,
    json,
    document,
    servers,
    basePath,
    examplePath: findFirstPath(operations, basePath),
    operations,
    scopes: [...scopes].sort()
  }
}

function parseYaml(text: string, file: URL | string): unknown {
  try {
    return parse(text, { merge: true })
  } catch (error) {
    // The further lines show the place.
    const [reason] = messageOf(error).split('\n')
    throw new Error(`${String(file)} must be YAML: ${reason}`, { cause: error })
  }
}

/**
 * Makes `type: [integer, 'null']` of OpenAPI 3.1 the `nullable` of 3.0: Fastify
 * could not write the bigint of an int64 that has two types.
 */
function withNullable(_key: string, value: unknown): unknown {
  const { type } = (value ?? {}) as { type?: unknown }
  if (!Array.isArray(type) || !type.includes('null')) return value
  const single: unknown = type.find((name) => name !== 'null')
  return { ...(value as object), type: single, nullable: true }
}

function pathFirst(servers: Server[]): Server[] {
  const isPath = ({ url }: Server) => url.startsWith('/')

  return [
    ...servers.filter(isPath),
    ...servers.filter((server) => !isPath(server))
  ]
}

function findFirstPath(operations: ApiOperation[], basePath: string): string {
  const first = operations.find(
    ({ method, path }) => method === 'GET' && !path.includes('{')
  )
  return first === undefined ? '/openapi.json' : basePath + first.path
}

/**
 * The operations of a document, each with its path and its method.
 *
 * @throws Error for an operation without an operationId
 */
export const operationsOf = ({ paths = {} }: Partial<Document>) =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((name) => {
      const operation = item?.[name]
      if (operation === undefined) return []
      const method = name.toUpperCase()
      const { operationId: id } = operation
      if (id === undefined)
        throw new Error(`${method} ${path} needs an operationId`)
      return { id, method, path, operation }
    })
  )

const readOperations = (document: Document): ApiOperation[] =>
  operationsOf(document).map(({ operation, ...rest }) => {
    const security = operation.security ?? document.security ?? []

    return {
      ...rest,
      security: security.flatMap(Object.keys),
      scopes: operation['x-scopes'] ?? [],
      hasBody: operation.requestBody !== undefined,
      deprecation: deprecationHeaders(rest.path, operation)
    }
  })

/** Returns a relative path, because a proxy may change the base path. */
function relativeTarget(from: string, to: string): string {
  const toRoot = '../'.repeat(from.split('/').length - 2)
  return toRoot + to.slice(1)
}

/** Deprecation is of RFC 9745, Sunset of RFC 8594, and Link of RFC 8288. */
function deprecationHeaders(path: string, operation: OperationObject): Headers {
  const headers: Headers = {}
  if (!operation.deprecated) return headers

  const since = operation['x-deprecated-at']
  if (since !== undefined)
    headers['deprecation'] = `@${Date.parse(since) / 1000}`

  const sunset = operation['x-sunset']
  if (sunset !== undefined) headers['sunset'] = new Date(sunset).toUTCString()

  const successor = operation['x-successor']
  if (successor !== undefined) {
    const target = relativeTarget(path, successor)
    headers['link'] = `<${target}>; rel="successor-version"`
  }

  return headers
}
