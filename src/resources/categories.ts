import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import type { Database } from '../postgres/database.ts'
import { groupedWrite } from '../sharing/grouped-write.ts'
import type { ResponseMemory } from '../sharing/response-memory.ts'
import { listHandler, type Page, type PageLimit } from '../sharing/shared-list.ts'

type Category = components['schemas']['Category']
type NewCategory = components['schemas']['NewCategory']
type Row = Pick<Category, 'id' | 'name'> & { description: string | null }

/** The privileges that the statements below need. */
export const categoryPrivileges = { categories: 'SELECT, INSERT', 'SEQUENCE categories_id_seq': 'USAGE' }

// PostgreSQL writes the JSON: a page is one value instead of thousands of objects.
const pageOfCategories = `
  SELECT CASE WHEN $2 = 1 OR octet_length(items) <= $3 THEN items END AS items, next FROM (
    SELECT
      coalesce(string_agg(',{"id":' || id || ',"name":' || to_json(name)
        || coalesce(',"description":' || to_json(description), '') || '}', ''), '') AS items,
      CASE count(*) WHEN $2 THEN max(id)::text END AS next
    FROM (
      SELECT id, name, description FROM categories
      WHERE id > coalesce($1::bigint, -9223372036854775808) ORDER BY id LIMIT $2
    ) AS category
  ) AS page`

// Names repeat: the ids are taken first and lead each row back to its place.
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

  async function readPage(after: string | null, { rows, bytes }: PageLimit): Promise<Page> {
    const query = { name: 'page-of-categories', text: pageOfCategories, values: [after, rows, bytes] }
    const [page] = await database.read<Page>(query)
    return page as Page
  }

  return {
    listCategories: listHandler<Category>(readPage, memory),
    createCategory: async ({ body }, reply) => reply.code(201).send(toCategory(await create(body)))
  } satisfies Partial<Operations>
}

/** A category without a description has no such property. */
const toCategory = ({ id, name, description }: Row): Category =>
  description === null ? { id, name } : { id, name, description }
