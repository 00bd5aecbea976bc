import { parseNumber } from './json-body.ts'
import type { Schema } from './int64.ts'

/** Allows one text for each integer: `1`, but not `01` or `+1`. */
const integerPattern = /^(0|-?[1-9]\d*)$/

/** Allows the numbers of JSON (RFC 8259, section 6). */
const numberPattern = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * Returns a function that converts the parameters of a request from text to the
 * types of their schemas. Text of another type remains text, which validation
 * rejects.
 */
export function parameterConverter(schemas: Record<string, Schema>) {
  const entries = Object.entries(schemas)

  return (parameters: Record<string, unknown>): void => {
    for (const [name, schema] of entries) {
      const value = parameters[name]
      if (value !== undefined) parameters[name] = convert(value, schema)
    }
  }
}

/** @param value text, or an array of texts if a parameter was repeated */
function convert(value: unknown, { type, items = {} }: Schema): unknown {
  if (type === 'array')
    return [value].flat().map((item) => convert(item, items))
  return typeof value === 'string' ? convertText(value, type) : value
}

function convertText(text: string, type: string | undefined): unknown {
  switch (type) {
    case 'boolean':
      if (text === 'true') return true
      if (text === 'false') return false
      return text
    case 'integer':
      return integerPattern.test(text) ? parseNumber(text) : text
    case 'number':
      return numberPattern.test(text) ? Number(text) : text
    default:
      return text
  }
}

/** Matches the headers of Node.js, whose names are in lower case. */
export function withLowerCaseNames({
  properties = {},
  required = [],
  ...rest
}: Schema): Schema {
  const entries = Object.entries(properties)

  return {
    ...rest,
    properties: Object.fromEntries(
      entries.map(([name, schema]) => [name.toLowerCase(), schema])
    ),
    required: required.map((name) => name.toLowerCase())
  }
}
