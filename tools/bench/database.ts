import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Kind } from './plan.ts'

const insertCategories = `
  INSERT INTO categories (name, description)
  SELECT
    'Category ' || n,
    CASE WHEN n % 2 = 0 THEN 'A short description of category ' || n END
  FROM generate_series(1, $1::int) AS n
`

const insertPets = `
  INSERT INTO pets (name, category_id, status)
  SELECT
    'Pet ' || n,
    1 + n % 10,
    (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
  FROM generate_series(1, $1::int) AS n
`

/** The database of the servers, to fill its tables. */
class Tables {
  readonly #client: pg.Client
  constructor(client: pg.Client) {
    this.#client = client
  }

  /**
   * Fills the table of a kind with so many rows: categories, half of them with
   * a description, or pets of ten categories.
   */
  async fill({ table }: Kind, rows: number): Promise<void> {
    const client = this.#client
    await client.query('TRUNCATE categories RESTART IDENTITY CASCADE')
    await client.query(insertCategories, [table === 'categories' ? rows : 10])
    if (table === 'pets') await client.query(insertPets, [rows])
    await client.query('VACUUM ANALYZE categories, pets')
  }

  /**
   * Deletes what is created, so that lists keep their length, until the
   * returned function is called.
   */
  trim(rows: number): () => Promise<void> {
    let isStopped = false

    const deleteCreated = async () => {
      while (!isStopped) {
        await this.#client.query('DELETE FROM categories WHERE id > $1', [rows])
        await setTimeout(100)
      }
    }

    const trimming = deleteCreated()

    return () => {
      isStopped = true
      return trimming
    }
  }

  /** Disconnects. Returns the version of PostgreSQL. */
  async end(): Promise<string> {
    const { rows } = await this.#client.query<{ server_version: string }>(
      'SHOW server_version'
    )
    await this.#client.end()

    return rows[0]?.server_version ?? ''
  }
}

/** Connects to the database of the servers. */
export async function connect(connectionString: string): Promise<Tables> {
  // Nothing here is measured.
  const options = '-c synchronous_commit=off'
  const client = new pg.Client({ connectionString, options })
  await client.connect()

  return new Tables(client)
}
