// Rules about all schemas of a request or a response: an assertion in
// redocly.yaml reaches only the outermost one.
import {
  isRef,
  type Oas3Rule,
  type Oas3Schema,
  type Oas3Visitor,
  type Plugin,
  type UserContext
} from '@redocly/openapi-core'

/** Returns what a schema lacks, or undefined. */
type Check = (schema: Oas3Schema) => string | undefined

const requestIsBounded: Check = ({
  type,
  enum: values,
  format,
  maxLength,
  maxItems,
  additionalProperties
}) => {
  if (type === 'string' && !values && !format && maxLength === undefined)
    return 'a string needs maxLength'
  if (type === 'array' && maxItems === undefined)
    return 'an array needs maxItems'
  // Also because oasdiff does not compare additionalProperties.
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
  if (anyOf || oneOf)
    return 'the serializer loses properties and int64 with anyOf and oneOf'
  if (!type && !allOf)
    return 'the serializer cannot write an int64 in a value without a type'
  if (additionalProperties !== undefined)
    return 'a later version may add properties; oasdiff does not compare maps'
  return undefined
}

/** A rule that checks each schema in the bodies of a request or response. */
function bodyRule(type: 'RequestBody' | 'Response', check: Check): Oas3Rule {
  const visitor: Oas3Visitor = {
    Schema(schema, ctx) {
      for (const [place, node] of schemasIn(schema as Oas3Schema, ctx)) {
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
  root: Oas3Schema,
  { resolve }: UserContext
): Map<string, Oas3Schema> {
  const found = new Map<string, Oas3Schema>()
  function add(place: string, schema: unknown): void {
    const node = isRef(schema)
      ? resolve<Oas3Schema>(schema).node
      : (schema as Oas3Schema | undefined)
    if (typeof node !== 'object' || [...found.values()].includes(node)) return
    found.set(place, node)
    add(`${place}[]`, node.items)
    for (const [name, property] of Object.entries(node.properties ?? {}))
      add(`${place}.${name}`, property)
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      for (const [index, one] of (node[keyword] ?? []).entries())
        add(`${place}.${keyword}[${index}]`, one)
    }
  }
  add('body', root)
  return found
}

const plugin: Plugin = {
  id: 'bodies',
  rules: {
    oas3: {
      'request-is-bounded': bodyRule('RequestBody', requestIsBounded),
      'response-is-serializable': bodyRule('Response', responseIsSerializable)
    }
  }
}

export default () => plugin
