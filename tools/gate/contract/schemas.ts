import { isDeepStrictEqual } from 'node:util'
import type { OpenAPIV3 } from 'openapi-types'
import { resolve } from '../../../src/openapi/document.ts'

type Schema = OpenAPIV3.SchemaObject | OpenAPIV3.ReferenceObject

/** A schema before and after, and the documents that its references are of. */
export interface Pair {
  before: Schema | undefined
  after: Schema | undefined
}

export interface SchemaChange {
  /** Property names and `items`, as oasdiff joins them: `items/kind`; empty for the schema itself. */
  place: string
  rule: 'enum' | 'additionalProperties' | 'not' | 'anyOf' | 'oneOf' | 'format'
  isBreaking: boolean
  text: string
}

/** The documents that the references of a pair are of. */
export interface Documents {
  before: OpenAPIV3.Document
  after: OpenAPIV3.Document
}

/**
 * What oasdiff leaves out of a schema's changes: an enum that is gone as a whole, additionalProperties, not, a first anyOf or
 * oneOf, another format of text. A request may not be held to more than before, a response may not be less bound; additional
 * properties of a response are no promise.
 */
export function schemaChanges(documents: Documents, pair: Pair, part: 'request' | 'response'): SchemaChange[] {
  const changes: SchemaChange[] = []
  const seen = new Map<object, Set<object>>()

  function compare({ before: given, after: now }: Pair, place: string): void {
    if (given === undefined || now === undefined) return
    const before = resolve<OpenAPIV3.SchemaObject>(documents.before, given)
    const after = resolve<OpenAPIV3.SchemaObject>(documents.after, now)
    // A schema that holds itself ends here.
    const others = seen.get(before) ?? new Set()
    if (others.has(after)) return
    seen.set(before, others.add(after))

    const add = (rule: SchemaChange['rule'], isBreaking: boolean, text: string) =>
      changes.push({ place, rule, isBreaking, text })
    if (before.enum !== undefined && after.enum === undefined) {
      add('enum', part === 'response', 'is not bound to its enum any more')
    }
    if (!isDeepStrictEqual(before.not, after.not)) {
      add('not', (part === 'request' ? after.not : before.not) !== undefined, 'has another `not`')
    }
    const [open, nowOpen] = [additional(before), additional(after)]
    if (typeof open === 'object' && typeof nowOpen === 'object') {
      compare({ before: open, after: nowOpen }, join(place, '*'))
    } else if (!isDeepStrictEqual(open, nowOpen)) {
      const narrower = nowOpen === false || open === true
      const isBreaking = part === 'request' ? narrower : typeof open === 'object' && nowOpen === true
      add('additionalProperties', isBreaking, `has ${narrower ? 'narrower' : 'wider'} additional properties`)
    }
    for (const [name, property] of Object.entries(before.properties ?? {})) {
      compare({ before: property, after: after.properties?.[name] }, join(place, name))
    }
    if ('items' in before && 'items' in after)
      compare({ before: before.items, after: after.items }, join(place, 'items'))
    // One more condition on the same type; of an alternative more or less oasdiff tells.
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const isNew = before[keyword] === undefined && after[keyword] !== undefined && before.type === after.type
      if (isNew && part === 'request') add(keyword, true, `has to match ${keyword} too`)
    }
    const isOtherText = before.type === 'string' && before.format && after.format && before.format !== after.format
    if (isOtherText && part === 'request') add('format', true, `has the format ${after.format}, not ${before.format}`)
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      const [some, others] = [before[keyword] ?? [], after[keyword] ?? []]
      // Of another number, oasdiff says which was added or removed.
      if (some.length === others.length) some.forEach((one, i) => compare({ before: one, after: others[i] }, place))
    }
  }

  compare(pair, '')
  return changes
}

/** What additional properties must be; an empty schema is what leaving it out means. */
function additional({ additionalProperties: given = true }: OpenAPIV3.SchemaObject): boolean | Schema {
  return typeof given === 'object' && Object.keys(given).length === 0 ? true : given
}

const join = (place: string, part: string) => (place === '' ? part : `${place}/${part}`)
