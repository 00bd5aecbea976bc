import type { DefinedError, ErrorObject } from 'ajv'

/**
 * Returns a message with a value and the rule that it breaks: `body.name must NOT have fewer than 1 characters`. A schema
 * can word its own rule: `must: 'start with postgres://'`, or `x-must` in openapi.yaml.
 *
 * @param root the name of the whole value, such as `body`; may be empty
 */
export function explain(error: ErrorObject, root: string): string {
  const steps = error.instancePath.split('/').slice(1)
  const path = steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')
  // The escapes of a JSON pointer (RFC 6901, section 4).
  const readable = path.replaceAll('~1', '/').replaceAll('~0', '~')
  return `${root}${readable} ${rule(error as DefinedError)}`.replace(
    /^[. ]/,
    ''
  )
}

/** Ajv's own message, or a clearer one. */
function rule({
  keyword,
  params,
  data,
  message,
  parentSchema
}: DefinedError): string {
  const { must, 'x-must': mustInDocument = must } = parentSchema as Record<
    string,
    string | undefined
  >
  if (mustInDocument !== undefined) return `must ${mustInDocument}`
  if (keyword === 'required')
    return `must have the property "${params.missingProperty}"`
  if (keyword === 'enum')
    return `must be one of: ${params.allowedValues.join(', ')}`
  if (keyword === 'pattern' && params.pattern === String.raw`^[^\x00]*$`)
    return 'must not contain NUL (U+0000)'
  const isRounded =
    keyword === 'type' && params.type === 'integer' && typeof data === 'bigint'
  if (isRounded) return 'must be within ±9007199254740991'
  if (keyword !== 'additionalProperties') return String(message)
  const known = Object.keys(Object(parentSchema?.['properties']) as object)
  return `must not have the property "${params.additionalProperty}"; it may have: ${known.join(', ')}`
}
