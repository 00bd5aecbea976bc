import type { OperationHandlers } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { makeCreateHandler } from '../creates/create-handler.ts'
import type { Database } from '../postgres/database.ts'
import { jsonSql } from '../postgres/json-sql.ts'
import { makeListHandler } from '../reads/list-handler.ts'
import type { ResponseBuffers } from '../reads/response-buffers.ts'

type Schemas = components['schemas']

const categoryJsonSql = jsonSql<Schemas['Category']>({
  id: 'id',
  name: 'name',
  description: 'description'
})

/** The operations on categories. */
export const createCategoriesHandlers = (
  database: Database,
  buffers: ResponseBuffers
) =>
  ({
    listCategories: makeListHandler(database, buffers, {
      operationId: 'listCategories',
      table: 'categories',
      rowJsonSql: categoryJsonSql
    }),

    createCategory: makeCreateHandler<
      Schemas['NewCategory'],
      Schemas['Category']
    >(database, {
      operationId: 'createCategory',
      table: 'categories',
      newIdSql: `nextval('categories_id_seq')`,
      bodyColumns: {
        name: ['name', 'text'],
        description: ['description', 'text']
      },
      rowJsonSql: categoryJsonSql
    })
  }) satisfies Partial<OperationHandlers>
