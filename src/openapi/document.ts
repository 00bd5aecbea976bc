import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'

/** One operation of the OpenAPI document. */
export interface Operation {
  id: string
  method: string
  /** As in the document, without the base path: `/pets/{petId}`. */
  path: string
  /** The security schemes that a request must satisfy, all of them. Empty for an operation without authentication. */
  security: string[]
  /** The headers of its responses that announce its deprecation. */
  deprecation: Record<string, string>
}

/** What the service uses of openapi.yaml. */
export type Contract = ReturnType<typeof readContract>

/** Reads openapi.yaml. `npm run check` validates it; the service relies on that. */
export function readContract(file: URL | string = new URL('../../openapi.yaml', import.meta.url)) {
  const yaml = readFileSync(file)
  const document = parse(yaml.toString()) as OpenAPIV3.Document
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OpenAPIV3.OperationObject>).map(([method, operation]): Operation => ({
      id: String(operation.operationId),
      method: method.toUpperCase(),
      path,
      security: (operation.security ?? document.security ?? []).flatMap(Object.keys),
      deprecation: deprecationHeaders(path, operation)
    }))
  )
  return {
    /** The file, byte for byte. */
    yaml,
    /** The document as JSON. */
    json: JSON.stringify(document),
    document,
    /** The path of the first server, which is the prefix of every route: `/v1`. */
    basePath: String(document.servers?.[0]?.url).replace(/\/$/, ''),
    operations
  }
}

/** Extensions for what OpenAPI has no fields for. The dates are optional: `2026-11-21` is midnight UTC. */
interface Deprecation {
  'x-deprecated-at'?: string
  'x-sunset'?: string
  /** Another name of x-sunset. */
  'x-deprecated-sunset'?: string
  /** The path of the replacement: `/pets`. */
  'x-successor'?: string
}

/** Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 5829), relative: a proxy may change the base path. */
function deprecationHeaders(path: string, operation: OpenAPIV3.OperationObject & Deprecation): Record<string, string> {
  const { 'x-deprecated-at': since, 'x-successor': successor } = operation
  const { 'x-deprecated-sunset': otherSunset, 'x-sunset': sunset = otherSunset } = operation
  const toRoot = '../'.repeat(path.split('/').length - 2)
  return {
    ...(since !== undefined && { Deprecation: `@${Date.parse(since) / 1000}` }),
    ...(sunset !== undefined && { Sunset: new Date(sunset).toUTCString() }),
    ...(successor !== undefined && { Link: `<${toRoot}${successor.slice(1)}>; rel="successor-version"` })
  }
}
