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

const insertKeys = `
  INSERT INTO idempotency_keys (key, fingerprint, response)
  SELECT
    sha256(n::text::bytea) AS key,
    sha256(n::text::bytea),
    '{"id":1,"name":"Rabbit","description":"Small mammals with long ears"}'
  FROM generate_series(1, $1::int) AS n
  ORDER BY key
`

/**
 * Changes the table so often, without a row: only servers that record changes
 * notice.
 */
const changeTable = (table: string, times: number) => `
  DO $$
  BEGIN
    FOR n IN 1..${times} LOOP
      DELETE FROM ${table} WHERE false;
      COMMIT;
    END LOOP;
  END
  $$
`

/** The database of the servers, to fill its tables. */
class Tables {
  readonly #client: pg.Client
  /** Keeps a transaction open, as an old statement does. */
  readonly #old: pg.Client

  constructor(client: pg.Client, old: pg.Client) {
    this.#client = client
    this.#old = old
  }

  /**
   * Fills the table of a kind with so many rows: categories, half of them with
   * a description, or pets of ten categories.
   */
  async fill({ table, changes }: Kind, rows: number): Promise<void> {
    const client = this.#client
    await this.#old.query('ROLLBACK')
    await client.query('TRUNCATE categories RESTART IDENTITY CASCADE')
    await client.query(insertCategories, [table === 'categories' ? rows : 10])
    if (table === 'pets') await client.query(insertPets, [rows])
    await client.query('VACUUM ANALYZE categories, pets')

    if (changes === undefined) return
    await this.#old.query('BEGIN')
    await this.#old.query('SELECT pg_current_xact_id()')
    await client.query(changeTable(table, changes))
  }

  /** Stores so many idempotency keys, and no others. */
  async storeKeys(count: number): Promise<void> {
    await this.#client.query('TRUNCATE idempotency_keys')
    await this.#client.query(insertKeys, [count])
    await this.#client.query('VACUUM ANALYZE idempotency_keys')
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
    await this.#old.end()

    return rows[0]?.server_version ?? ''
  }
}

/** Connects to the database of the servers. */
export async function connect(connectionString: string): Promise<Tables> {
  // Nothing here is measured.
  const options = '-c synchronous_commit=off'
  const client = new pg.Client({ connectionString, options })
  const old = new pg.Client({ connectionString })
  await client.connect()
  await old.connect()

  return new Tables(client, old)
}
