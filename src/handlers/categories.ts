import type { OperationHandlers } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { creationHandler } from '../creates/creation-handler.ts'
import type { Database } from '../postgres/database.ts'
import { jsonSql } from '../postgres/json.ts'
import { listHandler } from '../reads/list-handler.ts'
import type { ResponseBuffers } from '../reads/response-buffers.ts'

type Schemas = components['schemas']

const categoryJson = jsonSql<Schemas['Category']>({
  id: 'id',
  name: 'name',
  description: 'description'
})

/** The operations on categories. */
export const categoryHandlers = (
  database: Database,
  buffers: ResponseBuffers
) =>
  ({
    listCategories: listHandler(database, buffers, {
      statementName: 'listCategories',
      table: 'categories',
      json: categoryJson
    }),

    createCategory: creationHandler<
      Schemas['NewCategory'],
      Schemas['Category']
    >(database, {
      operationId: 'createCategory',
      table: 'categories',
      newId: `nextval('categories_id_seq')`,
      bodyColumns: {
        name: ['name', 'text'],
        description: ['description', 'text']
      },
      json: categoryJson
    })
  }) satisfies Partial<OperationHandlers>
