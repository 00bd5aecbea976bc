// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { BodyColumn } from '../../../../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** The columns that store the body ToyChanges. */
export const ToyChanges: BodyColumn<Schemas['ToyChanges']>[] = [
  { property: 'name', column: 'name', type: 'text' },
  { property: 'order', column: '"order"', type: 'bigint' },
  { property: 'isSold', column: 'is_sold', type: 'boolean' },
  { property: 'note', column: 'note', type: 'text' },
  { property: 'soldAt', column: 'sold_at', type: 'timestamptz' }
]
