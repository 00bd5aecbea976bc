// Rules that an assertion in redocly.yaml cannot express: about all schemas of
// a request or a response, and about what an operation has elsewhere.
import {
  isRef,
  type Oas3Operation,
  type Oas3Parameter,
  type Oas3Response,
  type Oas3Rule,
  type Oas3Schema,
  type Oas3Visitor,
  type Plugin,
  type UserContext
} from '@redocly/openapi-core'

/** Returns what a schema lacks and what to do about it, or undefined. */
type Check = (schema: Oas3Schema) => string | undefined

/** The formats that the validator checks, by type. */
export const formats: Partial<Record<string, string[]>> = {
  string: [
    'byte',
    'date',
    'date-time',
    'duration',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'time',
    'uri',
    'uri-reference',
    'uuid'
  ],
  integer: ['int32', 'int64'],
  number: ['double', 'float']
}

/**
 * The formats of texts of limited length. A date-time may have any fraction.
 */
const boundedFormats = ['date', 'ipv4', 'ipv6', 'uuid']

/** What to write instead of keywords that the service does not implement. */
const replacements = {
  discriminator:
    'write an operation for each kind, or one schema with an enum for the kind',
  exclusiveMaximum: 'write maximum, with the largest value that is allowed',
  exclusiveMinimum: 'write minimum, with the smallest value that is allowed',
  not: 'write what is allowed, as an enum or a pattern',
  readOnly: 'write two schemas, such as NewCategory and Category',
  writeOnly: 'write two schemas, such as NewCategory and Category'
} as const

const isUnboundedText: (schema: Oas3Schema) => boolean = ({
  type,
  enum: values,
  format = '',
  maxLength
}) =>
  type === 'string' &&
  values === undefined &&
  maxLength === undefined &&
  !boundedFormats.includes(format)

const requestIsBounded: Check = (schema) => {
  const { type, maxItems, additionalProperties } = schema
  if (isUnboundedText(schema))
    return 'a string needs maxLength, an enum, or the format date or uuid'
  if (type === 'array' && maxItems === undefined)
    return 'an array needs maxItems'
  // This matters, too, because oasdiff does not compare additionalProperties.
  if (type === 'object' && additionalProperties !== false)
    return 'an object needs additionalProperties: false'

  return undefined
}

const responseIsSerializable: Check = ({
  type,
  allOf,
  anyOf,
  oneOf,
  additionalProperties
}) => {
  if (anyOf || oneOf) {
    return (
      'write one schema with optional properties, because the serializer ' +
      'loses properties and int64 with anyOf and oneOf'
    )
  }
  if (!type && !allOf) {
    return (
      'write the type, because the serializer cannot write an int64 in a ' +
      'value without one'
    )
  }
  if (additionalProperties !== undefined) {
    return (
      'write each property and leave out additionalProperties, because a ' +
      'later version may add properties, and oasdiff does not compare maps'
    )
  }

  return undefined
}

/** A rule that checks each schema in the bodies of a request or response. */
function bodyRule(type: 'RequestBody' | 'Response', check: Check): Oas3Rule {
  const visitor: Oas3Visitor = {
    Schema(schema, ctx) {
      for (const [place, node] of schemasIn(schema, ctx)) {
        const problem = check(node)
        if (problem !== undefined)
          ctx.report({ message: `${place}: ${problem}` })
      }
    }
  }

  return () => ({ [type]: visitor })
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
  add('body', root)

  return schemas
}

/** A text in a path or a query has a limit. Headers have MAX_HEADER_BYTES. */
const parameterIsBounded: Oas3Rule = () => ({
  Parameter(parameter, ctx) {
    if (parameter.in !== 'path' && parameter.in !== 'query') return

    for (const [, schema] of schemasIn(parameter.schema ?? {}, ctx)) {
      if (!isUnboundedText(schema)) continue
      ctx.report({
        message:
          `A string in a ${parameter.in} needs maxLength, an enum, or the ` +
          'format date or uuid'
      })
    }
  }
})

/** A format that the validator does not know would be ignored. */
const formatIsKnown: Oas3Rule = () => ({
  Schema({ type, format }, ctx) {
    const knownFormats = formats[String(type)] ?? []
    if (format === undefined || knownFormats.includes(format)) return

    const alternatives =
      knownFormats.length > 0 ? knownFormats.join(', ') : 'no format'
    ctx.report({
      message:
        `The service does not check the format ${format} of the type ` +
        `${String(type)}: use ${alternatives}, or a pattern`,
      location: ctx.location.child('format')
    })
  }
})

const keywordIsSupported: Oas3Rule = () => ({
  Schema(schema, ctx) {
    for (const [keyword, replacement] of Object.entries(replacements)) {
      if (!(keyword in schema)) continue
      ctx.report({
        message: `The service does not support ${keyword}: ${replacement}`
      })
    }
  }
})

/** What the service sends because of what an operation has. */
const errorsAreDocumented: Oas3Rule = () => ({
  Operation(operation, ctx) {
    const causes: Record<string, string[]> = {
      'A request body': operation.requestBody ? ['413'] : [],
      'An Idempotency-Key': hasIdempotencyKey(operation, ctx)
        ? ['409', '422']
        : []
    }
    for (const [cause, statuses] of Object.entries(causes)) {
      const missing = statuses.filter(
        (status) => operation.responses[status] === undefined
      )
      if (missing.length === 0) continue
      ctx.report({
        message: `${cause} can cause ${missing.join(' and ')}: add these responses`
      })
    }
  }
})

function hasIdempotencyKey(
  { parameters = [] }: Oas3Operation,
  ctx: UserContext
): boolean {
  return parameters.some((parameter) => {
    const { name } = resolved<Oas3Parameter>(parameter, ctx)
    return name.toLowerCase() === 'idempotency-key'
  })
}

/** The headers of a deprecation, by the extensions that cause them. */
const deprecationHeaders = {
  'x-deprecated-at': 'Deprecation',
  'x-sunset': 'Sunset',
  'x-successor': 'Link'
}

/** The successes have them, since errors are shared by operations. */
const deprecationIsDocumented: Oas3Rule = () => ({
  Operation(operation, ctx) {
    const neededHeaders = Object.entries(deprecationHeaders)
      .filter(([extension]) => extension in operation)
      .map(([, header]) => header)

    for (const [status, response] of Object.entries(operation.responses)) {
      if (!status.startsWith('2')) continue

      const { headers = {} } = resolved<Oas3Response>(response, ctx)
      const missing = neededHeaders.filter(
        (header) => headers[header] === undefined
      )
      if (missing.length === 0) continue
      ctx.report({
        message:
          `A deprecated operation sends ${missing.join(', ')}: add them to ` +
          'the headers of its responses 2xx',
        location: ctx.location.child(['responses', status])
      })
    }
  }
})

function resolved<Node extends object>(
  node: unknown,
  { resolve }: UserContext
): Node {
  return (isRef(node) ? resolve<Node>(node).node : node) as Node
}

const plugin: Plugin = {
  id: 'service',
  rules: {
    oas3: {
      'request-is-bounded': bodyRule('RequestBody', requestIsBounded),
      'response-is-serializable': bodyRule('Response', responseIsSerializable),
      'parameter-is-bounded': parameterIsBounded,
      'format-is-known': formatIsKnown,
      'keyword-is-supported': keywordIsSupported,
      'errors-are-documented': errorsAreDocumented,
      'deprecation-is-documented': deprecationIsDocumented
    }
  }
}

export default () => plugin
