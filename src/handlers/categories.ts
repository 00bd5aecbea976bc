import { newCategoryColumns } from '../../generated/columns.ts'
import { categoryJson } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { insertOperation } from '../framework/creates/insert-operation.ts'
import { listOperation } from '../framework/lists/lists.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import type { Database } from '../framework/postgres/database.ts'

/** The operations on categories. */
export function categoryHandlers(database: Database, memory: ResponseMemory) {
  return {
    listCategories: listOperation(database, memory, {
      name: 'listCategories',
      table: 'categories',
      json: categoryJson
    }),

    createCategory: insertOperation(database, {
      operationId: 'createCategory',
      status: 201,
      table: 'categories',
      id: `nextval('categories_id_seq')`,
      columns: newCategoryColumns,
      json: categoryJson
    })
  } satisfies Partial<Operations>
}
