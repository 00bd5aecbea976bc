import type { OpenAPIV3 } from 'openapi-types'

/** When an operation was deprecated and from when on it may be gone, as docs/versioning.md has it. */
export interface Deprecation {
  at: Date
  sunset: Date
  /** The URL of what a client should do, the operation's externalDocs. */
  link?: string
}

/** Months that a deprecated operation lives at least, as docs/versioning.md promises. */
export const notice = 6

/** The extensions of an operation of the document that say when; a date such as 2026-11-21 is midnight UTC. */
interface Extensions {
  'x-deprecated-at'?: unknown
  'x-sunset'?: unknown
}

/**
 * The deprecation of an operation; undefined when it is not deprecated. Without x-deprecated-at it is as old as its sunset asks.
 *
 * @throws Error that names the operation and what it must change
 */
export function readDeprecation(
  name: string,
  { deprecated = false, externalDocs, ...operation }: OpenAPIV3.OperationObject & Extensions
): Deprecation | undefined {
  const fault = (text: string) => new Error(`openapi.yaml: ${name} ${text}`)
  if (!deprecated) {
    const stray = (['x-deprecated-at', 'x-sunset'] as const).find((extension) => extension in operation)
    if (stray !== undefined) throw fault(`has ${stray} and is not deprecated`)
    return undefined
  }
  const date = (extension: keyof Extensions) => {
    const text = operation[extension]
    if (typeof text === 'string' && isDate(text)) return new Date(text)
    const given = text === undefined ? 'nothing' : JSON.stringify(text)
    throw fault(`is deprecated: its ${extension} must be a date such as 2026-11-21, not ${given}`)
  }
  const sunset = date('x-sunset')
  const at = operation['x-deprecated-at'] === undefined ? addMonths(sunset, -notice) : date('x-deprecated-at')
  if (sunset <= at) throw fault('is deprecated: its x-sunset must be later than its x-deprecated-at')
  if (externalDocs === undefined) return { at, sunset }
  if (!URL.canParse(externalDocs.url)) throw fault('is deprecated: the url of its externalDocs must be absolute')
  return { at, sunset, link: new URL(externalDocs.url).href }
}

/** Whether the text is a full-date or a date-time of RFC 3339 in whole seconds, of a day that there is. */
function isDate(text: string): boolean {
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const isDay = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day)
  return isDay && !Number.isNaN(Date.parse(text))
}

/** The same day so many months later, or earlier when they are negative; where a month has no such day, its last. */
export function addMonths(date: Date, months: number): Date {
  const other = new Date(date)
  other.setUTCMonth(other.getUTCMonth() + months)
  if (other.getUTCDate() !== date.getUTCDate()) other.setUTCDate(0)
  return other
}
