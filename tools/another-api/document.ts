// The OpenAPI document of the trains: the original, changed where the service
// cannot serve it.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

type Json = Record<string, unknown>

interface Schema {
  required?: string[]
  properties?: Record<string, Schema>
  anyOf?: Schema[]
}

export interface Document {
  components: Record<string, Json>
}

const folder = import.meta.dirname

export const readYaml = (file: string): unknown =>
  parse(readFileSync(file, 'utf8'), { merge: true })

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON Merge Patch (RFC 7396), but appends arrays. */
function merge(target: unknown, patch: unknown): unknown {
  if (Array.isArray(target) && Array.isArray(patch))
    return [...(target as unknown[]), ...(patch as unknown[])]
  if (!isObject(patch)) return patch

  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, merge(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

/** Keywords that the service cannot check. */
const unsupported = [
  'exclusiveMinimum',
  'readOnly',
  'unevaluatedProperties',
  'writeOnly'
]

/** A schema without the properties that are for the other direction. */
function without(flag: 'readOnly' | 'writeOnly', original?: Schema): Schema {
  const text = JSON.stringify(original, (key, value: unknown) =>
    unsupported.includes(key) || (isObject(value) && flag in value)
      ? undefined
      : value
  )
  const schema = JSON.parse(text) as Schema
  for (const source of schema.properties?.['source']?.anyOf ?? []) {
    const { properties = {}, required = [] } = source
    source.required = required.filter((name) => name in properties)
  }
  return schema
}

/** The document. It refers to components of this repository's document. */
export function trainDocument() {
  const original = readYaml(
    path.join(
      folder,
      'node_modules/@readme/oas-examples/3.1/json/train-travel.json'
    )
  ) as { components: { schemas: Record<string, Schema> } }
  const { schemas } = original.components
  for (const name of ['Booking', 'BookingPayment']) {
    schemas[`${name}Input`] = without('readOnly', schemas[name])
    schemas[name] = without('writeOnly', schemas[name])
  }
  const base = { ...original, servers: [], security: [] }

  return merge(base, readYaml(path.join(folder, 'overlay.yaml'))) as Document
}
