import type { components } from '../../generated/types.ts'
import type { Database } from '../postgres/database.ts'
import { groupedWrite } from '../sharing/grouped-write.ts'

type Category = components['schemas']['Category']
type NewCategory = components['schemas']['NewCategory']

/** The categories in Postgres. Each method fails as `Database` does. */
export interface CategoryStore {
  /**
   * The categories with an id above `after`, or the first ones, by id: at most `rows`, and none that would begin beyond
   * `bytes` of text, when given. There is one at least, unless there are no more.
   */
  page(this: void, after: bigint | undefined, limit: { rows: number; bytes?: number }): Promise<Category[]>
  /**
   * Stores a category durably and gives it with its id.
   *
   * @throws Overloaded when too many categories wait to be written
   */
  create(category: NewCategory): Promise<Category>
}

interface Row {
  id: bigint
  name: string
  description: string | null
}

export const categoryPrivileges = { categories: 'SELECT, INSERT', 'SEQUENCE categories_id_seq': 'USAGE' }

/** Below every id. */
const beginning = -(2n ** 63n)

export function categoryStore(database: Database): CategoryStore {
  const write = groupedWrite<NewCategory, Row>(database, {
    name: 'create-categories',
    // Names repeat: the ids are taken first, and lead each row back to its place.
    text: `WITH new AS (
        SELECT nextval('categories_id_seq') AS id, name, description, place
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (name, description, place) ORDER BY place
      ), stored AS (
        INSERT INTO categories (id, name, description) SELECT id, name, description FROM new ORDER BY place
        RETURNING id, name, description
      )
      SELECT stored.id, stored.name, stored.description FROM new JOIN stored USING (id) ORDER BY place`,
    columns: (categories) => [
      categories.map(({ name }) => name),
      categories.map(({ description }) => description ?? null)
    ]
  })

  return {
    async page(after = beginning, { rows, bytes }) {
      const page = await database.read<Row>(
        bytes === undefined
          ? {
              name: 'page-of-categories',
              text: 'SELECT id, name, description FROM categories WHERE id > $1 ORDER BY id LIMIT $2',
              values: [after, rows]
            }
          : {
              name: 'measured-page-of-categories',
              text: `SELECT id, name, description FROM (
                SELECT *, sum(octet_length(name) + coalesce(octet_length(description), 0))
                  OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM (SELECT id, name, description FROM categories WHERE id > $1 ORDER BY id LIMIT $2) AS page
              ) AS measured
              WHERE coalesce(before, 0) < $3 ORDER BY id`,
              values: [after, rows, bytes]
            }
      )
      return page.map(toCategory)
    },
    create: async (category) => toCategory(await write(category))
  }
}

/** A category without a description has no such property: null is not of the document's type. */
function toCategory({ id, name, description }: Row): Category {
  return description === null ? { id, name } : { id, name, description }
}
