// The compiler is the test, in `npm run check`: a list can only be the
// operation that returns an array of its rows.
import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import {
  filteredListOperation,
  listOperation
} from '../../src/lists/list-operation.ts'
import type { RowJson } from '../../src/openapi/json.ts'

type Schemas = components['schemas']

declare const database: Parameters<typeof listOperation>[0]
declare const memory: Parameters<typeof listOperation>[1]
declare const category: RowJson<Schemas['Category']>
declare const newCategory: RowJson<Schemas['NewCategory']>
declare const order: RowJson<Schemas['Order']>

const categories = { table: 'categories', row: category }
const newCategories = { table: 'categories', row: newCategory }
const orders = { table: 'orders', row: order }

type List = Pick<Operations, 'listCategories'>

export const accepted: List = {
  listCategories: listOperation(database, memory, categories)
}

export const ofAnotherSchema: List = {
  // @ts-expect-error orders are not categories
  listCategories: listOperation(database, memory, orders)
}

export const withoutProperty: List = {
  // @ts-expect-error a new category has no id
  listCategories: listOperation(database, memory, newCategories)
}

const byKey = { table: 'categories', key: 'name', row: newCategory }
export const keyed = listOperation(database, memory, byKey)

// @ts-expect-error a row without an id has no default key
export const keyless = listOperation(database, memory, newCategories)

const filters = { status: (status: string) => `status = ${status}` }
const filtered = { ...categories, filters }

export const filteredByUnknown: List = {
  // @ts-expect-error listCategories has no parameter `status`
  listCategories: filteredListOperation(database, memory, filtered)
}
