import type { DefinedError, ErrorObject } from 'ajv'

/** Decodes a part of a JSON pointer (RFC 6901, section 4). */
const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

/**
 * Returns a message with a value and the rule that it breaks: `body.name must NOT have fewer than 1 characters`. A schema
 * can word its own rule: `must: 'start with postgres://'`, or `x-must` in openapi.yaml.
 *
 * @param root the name of the whole value, such as `body`; may be empty
 */
export function explain(error: ErrorObject, root: string): string {
  const parts = error.instancePath.split('/').slice(1).map(unescapePointer)
  const path = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')
  return `${root}${path} ${rule(error as DefinedError)}`.replace(/^[. ]/, '')
}

/** Ajv's own message, or a clearer one. */
function rule(error: DefinedError): string {
  const { must, 'x-must': mustInDocument = must } = error.parentSchema as Record<string, string | undefined>
  if (mustInDocument !== undefined) return `must ${mustInDocument}`
  switch (error.keyword) {
    case 'required':
      return `must have the property "${error.params.missingProperty}"`
    case 'additionalProperties': {
      const known = Object.keys(Object(error.parentSchema?.['properties']) as object)
      return `must not have the property "${error.params.additionalProperty}"; it may have: ${known.join(', ')}`
    }
    case 'enum':
      return `must be one of: ${error.params.allowedValues.join(', ')}`
    case 'pattern':
      if (error.params.pattern === String.raw`^[^\x00]*$`) return 'must not contain NUL (U+0000)'
      break
    case 'type':
      if (error.params.type === 'integer' && typeof error.data === 'bigint') return 'must be within ±9007199254740991'
  }
  return String(error.message)
}
