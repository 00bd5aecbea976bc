import type { DefinedError, ErrorObject } from 'ajv'

/** A part of a JSON pointer as it is written, without its escapes (RFC 6901, section 4). */
export const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** A message that names a value and the rule that it breaks: `body.name must have at least 1 character`. */
export function explain(error: ErrorObject, root: string): string {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map(unescapePointer)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
  const place = `${root}${path}`.replace(/^\./, '')
  return `${place} ${rule(error as DefinedError)}`.trimStart()
}

function rule(error: DefinedError): string {
  switch (error.keyword) {
    case 'required':
      return `must have the property "${error.params.missingProperty}"`
    case 'additionalProperties': {
      const known = Object.keys(Object(error.parentSchema?.['properties']) as object)
      const allowed = known.length > 0 ? `; it may have: ${known.join(', ')}` : ''
      return `must not have the property "${error.params.additionalProperty}"${allowed}`
    }
    case 'type':
      if (typeof error.data === 'bigint' && error.params.type === 'integer')
        return `must be within ±${Number.MAX_SAFE_INTEGER}: beyond, it could not be kept exactly`
      return `must be ${article(String(error.params.type))}, not ${kind(error.data)}`
    case 'minLength':
      return `must have at least ${count(error.params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${count(error.params.limit, 'character')}`
    case 'enum':
      return `must be one of: ${error.params.allowedValues.join(', ')}`
    case 'pattern':
      return `must match the pattern ${error.params.pattern}`
    default:
      return String((error as ErrorObject).message)
  }
}

const count = (limit: number, noun: string) => `${limit} ${noun}${limit === 1 ? '' : 's'}`
const article = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)

function kind(data: unknown): string {
  if (data === null) return 'null'
  if (typeof data === 'bigint') return 'a number'
  if (typeof data === 'string') return JSON.stringify(data.length > 40 ? `${data.slice(0, 40)}…` : data)
  return article(Array.isArray(data) ? 'array' : typeof data)
}
