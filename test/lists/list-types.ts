// The compiler is the test, in `npm run check`: a list can only be the
// operation that returns an array of its rows.
import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { cachedList } from '../../src/lists/cached-list.ts'
import type { RowJson } from '../../src/openapi/json.ts'

type Schemas = components['schemas']

declare const database: Parameters<typeof cachedList>[0]
declare const memory: Parameters<typeof cachedList>[1]
declare const category: RowJson<Schemas['Category']>
declare const newCategory: RowJson<Schemas['NewCategory']>
declare const order: RowJson<Schemas['Order']>

const categories = { table: 'categories', row: category }
const newCategories = { table: 'categories', row: newCategory }
const orders = { table: 'orders', row: order }

type List = Pick<Operations, 'listCategories'>

export const accepted: List = {
  listCategories: cachedList(database, memory, categories)
}

export const ofAnotherSchema: List = {
  // @ts-expect-error orders are not categories
  listCategories: cachedList(database, memory, orders)
}

export const withoutProperty: List = {
  // @ts-expect-error a new category has no id
  listCategories: cachedList(database, memory, newCategories)
}
