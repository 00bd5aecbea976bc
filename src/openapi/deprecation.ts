import type { OpenAPIV3 } from 'openapi-types'
import { documentError } from './document.ts'

/** The dates of a deprecation, which OpenAPI lacks; a date such as 2026-11-21 is midnight UTC. */
interface Extensions {
  'x-deprecated-at'?: unknown
  'x-sunset'?: unknown
}

/**
 * The response headers that announce a deprecation: Deprecation (RFC 9745) with x-deprecated-at, Sunset (RFC 8594) with
 * x-sunset, and Link with externalDocs. None for an operation that is not deprecated.
 *
 * @param name of the operation, for errors
 * @throws Error when a date is not valid
 */
export function deprecationHeaders(
  name: string,
  operation: OpenAPIV3.OperationObject & Extensions
): Record<string, string> {
  if (!operation.deprecated) return {}
  const date = (extension: keyof Extensions) => {
    const value = operation[extension]
    if (value === undefined || (typeof value === 'string' && isDate(value))) return value && new Date(value)
    throw documentError(`${name}: ${extension} must be a date such as 2026-11-21, not ${JSON.stringify(value)}`)
  }
  const at = date('x-deprecated-at')
  const sunset = date('x-sunset')
  const link = operation.externalDocs?.url
  return {
    ...(at && { Deprecation: `@${at.getTime() / 1000}` }),
    ...(sunset && { Sunset: sunset.toUTCString() }),
    ...(link !== undefined && { Link: `<${link}>; rel="deprecation sunset"` })
  }
}

/** Whether the text is a full-date or a date-time of RFC 3339 in whole seconds, of a day that exists. */
function isDate(text: string): boolean {
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const isDay = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day)
  return isDay && !Number.isNaN(Date.parse(text))
}
