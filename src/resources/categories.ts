import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import type { Database } from '../postgres/database.ts'
import { createHandler } from '../creates/grouped-create.ts'
import type { ResponseMemory } from '../lists/response-memory.ts'
import { cachedList } from '../lists/cached-list.ts'
import type { RowJson } from '../openapi/json.ts'

/** The privileges that the statements below need. */
export const categoryPrivileges = {
  categories: 'SELECT, INSERT',
  'SEQUENCE categories_id_seq': 'USAGE'
}

/** A category as JSON, without a description that is null. */
const json = `'{"id":' || id || ',"name":' || to_json(name) || coalesce(',"description":' || to_json(description), '') || '}'`

/** The operations on categories. */
export function categoryHandlers(database: Database, memory: ResponseMemory) {
  return {
    listCategories: cachedList(database, memory, {
      table: 'categories',
      row: json as RowJson<components['schemas']['Category']>
    }),
    createCategory: createHandler(database, 201, {
      table: 'categories',
      given: { name: 'text', description: 'text' },
      values: ({ name, description }) => [name, description],
      rows: "SELECT nextval('categories_id_seq') AS id, given.* FROM given",
      stored: 'id, name, description',
      json
    })
  } satisfies Partial<Operations>
}
