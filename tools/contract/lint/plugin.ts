// Rules that an assertion in redocly.yaml cannot express: it sees only the
// outermost schema of a request or a response.
import {
  isRef,
  type Oas3Schema,
  type Plugin,
  type UserContext
} from '@redocly/openapi-core'

/** A schema of OpenAPI 3.0 or 3.1, without the type `'null'`. */
type Schema = Omit<Oas3Schema, 'type'> & { type: string | undefined }

/** Returns what a schema lacks and what to do about it, or undefined. */
type Check = (schema: Schema) => string | undefined

/**
 * The formats of texts of limited length. A date-time may have any fraction.
 */
const boundedFormats = ['date', 'ipv4', 'ipv6', 'uuid']

const requestIsBounded: Check = (schema) => {
  const { type, maxItems, additionalProperties, maxLength, format } = schema
  if (type === 'array' && maxItems === undefined) return 'needs maxItems'
  // This matters, too, because oasdiff does not compare additionalProperties.
  if (type === 'object' && additionalProperties !== false)
    return 'needs additionalProperties: false'

  const isBounded =
    type !== 'string' ||
    schema.enum !== undefined ||
    maxLength !== undefined ||
    boundedFormats.includes(String(format))
  return isBounded
    ? undefined
    : 'needs maxLength, an enum, or the format date or uuid'
}

const responseIsSerializable: Check = ({ type, allOf, oneOf }) =>
  type || allOf || oneOf
    ? undefined
    : 'needs a type, because the serializer cannot write an int64 in a value without one'

/** The type of a schema that may also be null. */
const typeOf = ({ type }: { type?: string | string[] }) =>
  [type].flat().find((one) => one !== 'null')

/** Reports the problems of a schema, and of the schemas in it. */
function report(check: Check) {
  return (schema: unknown, ctx: UserContext) => {
    for (const [place, node] of schemasIn(schema, ctx)) {
      const problem = check({ ...node, type: typeOf(node) })
      if (problem !== undefined) ctx.report({ message: `${place} ${problem}` })
    }
  }
}

/** The schema and the schemas in it, each once, with their property names. */
function schemasIn(
  root: unknown,
  { resolve }: UserContext
): Map<string, Oas3Schema> {
  const schemas = new Map<string, Oas3Schema>()
  function add(place: string, schema: unknown): void {
    const node = isRef(schema)
      ? resolve<Oas3Schema>(schema).node
      : (schema as Oas3Schema | undefined)
    if (typeof node !== 'object' || [...schemas.values()].includes(node)) return
    schemas.set(place, node)
    add(`${place}[]`, node.items)
    for (const [name, property] of Object.entries(node.properties ?? {}))
      add(`${place}.${name}`, property)
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      for (const [index, one] of (node[keyword] ?? []).entries())
        add(`${place}.${keyword}[${index}]`, one)
    }
  }
  add('schema', root)

  return schemas
}

const plugin: Plugin = {
  id: 'service',
  rules: {
    oas3: {
      'request-is-bounded': () => ({
        RequestBody: { Schema: report(requestIsBounded) }
      }),
      'response-is-serializable': () => ({
        Response: { Schema: report(responseIsSerializable) }
      })
    }
  }
}

export default () => plugin
