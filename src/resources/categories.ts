import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import type { Database } from '../postgres/database.ts'
import { groupedWrite } from '../sharing/grouped-write.ts'
import type { ResponseMemory } from '../sharing/response-memory.ts'
import { listHandler } from '../sharing/shared-list.ts'

type Category = components['schemas']['Category']
type NewCategory = components['schemas']['NewCategory']
type Row = Pick<Category, 'id' | 'name'> & { description: string | null }

/** The privileges that the statements below need. */
export const categoryPrivileges = { categories: 'SELECT, INSERT', 'SEQUENCE categories_id_seq': 'USAGE' }

/** A category as JSON, without a description that is null. */
const json = `'{"id":' || id || ',"name":' || to_json(name) || coalesce(',"description":' || to_json(description), '') || '}'`

// Names are not unique, so the ids are assigned first: they lead from each stored row to its place.
const createCategories = `
  WITH new AS (
    SELECT nextval('categories_id_seq') AS id, name, description, place
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (name, description, place) ORDER BY place
  ), stored AS (
    INSERT INTO categories (id, name, description) SELECT id, name, description FROM new ORDER BY place
    RETURNING id, name, description
  )
  SELECT stored.id, stored.name, stored.description FROM new JOIN stored USING (id) ORDER BY place`

/** The operations on categories. */
export function categoryHandlers(database: Database, memory: ResponseMemory) {
  const create = groupedWrite<NewCategory, Row>(database, 'create-categories', createCategories, (categories) => [
    categories.map(({ name }) => name),
    categories.map(({ description }) => description)
  ])

  return {
    listCategories: listHandler<Category>(database, memory, 'categories', json),
    createCategory: async ({ body }, reply) => reply.code(201).send(toCategory(await create(body)))
  } satisfies Partial<Operations>
}

/** A category without a description has no such property. */
const toCategory = ({ id, name, description }: Row): Category =>
  description === null ? { id, name } : { id, name, description }
