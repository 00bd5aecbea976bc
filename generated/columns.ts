// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { BodyColumn } from '../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** The columns that store the body NewCategory. */
export const newCategoryColumns: BodyColumn<Schemas['NewCategory']>[] = [
  { property: 'name', column: '"name"', type: 'text' },
  { property: 'description', column: '"description"', type: 'text' }
]

/** The columns that store the body NewMessage. */
export const newMessageColumns: BodyColumn<Schemas['NewMessage']>[] = [
  { property: 'message', column: '"message"', type: 'text' }
]

/** The columns that store the body NewPet. */
export const newPetColumns: BodyColumn<Schemas['NewPet']>[] = [
  { property: 'name', column: '"name"', type: 'text' },
  { property: 'categoryId', column: '"category_id"', type: 'bigint' },
  { property: 'status', column: '"status"', type: 'text', default: "available" }
]
