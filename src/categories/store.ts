import type { components } from '../../generated/service.ts'
import type { Database } from '../database/database.ts'

type Category = components['schemas']['Category']
type NewCategory = components['schemas']['NewCategory']

/** The categories in Postgres. Each method fails as `Database` does. */
export interface CategoryStore {
  /** All categories, oldest first. */
  list(): Promise<Category[]>
  /** Stores a category durably and gives it with its id. */
  create(category: NewCategory): Promise<Category>
}

interface Row {
  id: bigint
  name: string
  description: string | null
}

export function categoryStore(database: Database): CategoryStore {
  return {
    async list() {
      const rows = await database.read<Row>({
        name: 'list-categories',
        text: 'SELECT id, name, description FROM categories ORDER BY id'
      })
      return rows.map(toCategory)
    },
    async create({ name, description }) {
      const [row] = (await database.write<Row>({
        name: 'create-category',
        text: 'INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING id, name, description',
        values: [name, description ?? null]
      })) as [Row]
      return toCategory(row)
    }
  }
}

/** A category without a description has no such property: null is not of the document's type. */
function toCategory({ id, name, description }: Row): Category {
  return description === null ? { id, name } : { id, name, description }
}
