import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Work } from './plan.ts'

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
export class Tables {
  readonly #client: pg.Client

  constructor(connectionString: string) {
    // Nothing here is measured.
    const options = '-c synchronous_commit=off'
    this.#client = new pg.Client({ connectionString, options })
  }

  connect = () => this.#client.connect()

  /**
   * Fills the table of a work: categories, half of them with a description, or
   * pets of ten categories.
   */
  async fill({ rows, hasPets = false }: Work): Promise<void> {
    const client = this.#client
    await client.query('TRUNCATE categories RESTART IDENTITY CASCADE')
    await client.query(insertCategories, [hasPets ? 10 : rows])
    if (hasPets) await client.query(insertPets, [rows])
    await client.query('VACUUM ANALYZE categories, pets')
  }

  /** Deletes what is created, until it is aborted. */
  async trim({ rows }: Work, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#client.query('DELETE FROM categories WHERE id > $1', [rows])
      await setTimeout(100)
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
