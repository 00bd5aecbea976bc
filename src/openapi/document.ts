import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'

/** Extensions for what OpenAPI has no fields for, explained in docs/versioning.md. */
type Deprecation = Partial<
  Record<
    'x-deprecated-at' | 'x-sunset' | 'x-deprecated-sunset' | 'x-successor',
    string
  >
>

/** The methods that an OpenAPI 3.0 path item can have and Fastify can route. */
const methods = [
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch'
] as const

/** What the service uses of openapi.yaml. */
export type Contract = ReturnType<typeof readContract>
export type Operation = Contract['operations'][number]

/** Reads openapi.yaml. `npm run check` validates it; the service relies on that. */
export function readContract(
  file: URL | string = new URL('../../openapi.yaml', import.meta.url)
) {
  const yaml = readFileSync(file)
  const document = parse(yaml.toString()) as OpenAPIV3.Document<Deprecation>
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item?.[method]
      if (operation === undefined) return []
      const { operationId: id = '', security = document.security ?? [] } =
        operation
      const deprecation = deprecationHeaders(path, operation)
      return {
        id,
        method: method.toUpperCase(),
        path,
        security: security.flatMap(Object.keys),
        deprecation
      }
    })
  )
  return {
    /** The file, byte for byte. */
    yaml,
    document,
    json: JSON.stringify(document),
    /** The path of the first server, which is the prefix of every route: `/v1`. */
    basePath: String(document.servers?.[0]?.url).replace(/\/$/, ''),
    operations
  }
}

/** Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 5829), relative: a proxy may change the base path. */
function deprecationHeaders(
  path: string,
  operation: OpenAPIV3.OperationObject<Deprecation>
) {
  const {
    deprecated,
    'x-deprecated-at': since,
    'x-successor': successor
  } = operation
  const sunset = operation['x-sunset'] ?? operation['x-deprecated-sunset']
  if (!deprecated) return {}
  const toRoot = '../'.repeat(path.split('/').length - 2)
  return {
    ...(since !== undefined && { Deprecation: `@${Date.parse(since) / 1000}` }),
    ...(sunset !== undefined && { Sunset: new Date(sunset).toUTCString() }),
    ...(successor !== undefined && {
      Link: `<${toRoot}${successor.slice(1)}>; rel="successor-version"`
    })
  }
}
