import { newCategoryColumns } from '../../generated/columns.ts'
import { categoryJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { creationHandler } from '../framework/creates/creation-handler.ts'
import { listHandler } from '../framework/reads/list-handler.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import type { Database } from '../framework/postgres/database.ts'

/** The operations on categories. */
export function categoryHandlers(database: Database, buffers: ResponseBuffers) {
  return {
    listCategories: listHandler(database, buffers, {
      statementName: 'listCategories',
      table: 'categories',
      json: categoryJson
    }),

    createCategory: creationHandler(database, {
      operationId: 'createCategory',
      status: 201,
      table: 'categories',
      newId: `nextval('categories_id_seq')`,
      bodyColumns: newCategoryColumns,
      json: categoryJson
    })
  } satisfies Partial<OperationHandlers>
}
