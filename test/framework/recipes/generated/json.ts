// Generated from openapi.yaml by `npm run generate`. Do not edit.

import { rowJson } from '../../../../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** Writes a row as the JSON of the schema Toy. */
export const Toy = rowJson<Schemas['Toy']>(
  `'{"id":' || coalesce(to_json(id)::text, missing_property('Toy.id'))
  || ',"name":' || coalesce(to_json(name)::text, missing_property('Toy.name'))
  || ',"order":' || coalesce("order"::text, missing_property('Toy.order'))
  || ',"isSold":' || coalesce(is_sold::text, missing_property('Toy.isSold'))
  || coalesce(',"note":' || to_json(note)::text, '')
  || coalesce(',"soldAt":' || '"' || to_char(sold_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
  || '}'`,
  ['id', 'name', '"order"', 'is_sold', 'note', 'sold_at']
)
