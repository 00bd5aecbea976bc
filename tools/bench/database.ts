import { setTimeout } from 'node:timers/promises'
import pg, { type Client } from 'pg'
import { apiKeyPrefix } from '../../generated/names.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import { Metrics } from '../../src/framework/metrics.ts'
import { Database } from '../../src/framework/postgres/database.ts'
import { api } from '../../src/handlers/index.ts'
import { migrate, silent } from '../../test/support/database.ts'
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
  SELECT 'Pet ' || id, id, 'sold'
  FROM categories
`

/** Migrates and opens a database, and creates an API key. */
export async function openMigrated(url: string) {
  await migrate(url, {}, [api.migrationsFolder])
  const limits = { DATABASE_TIMEOUT_MS: 5000 }
  const database = new Database(url, limits, silent, new Metrics())
  const store = new ApiKeyStore(database, apiKeyPrefix, silent)
  const key = await store.create('bench')
  await database.close()

  // Nothing that this client changes is measured.
  const options = '-c synchronous_commit=off'
  const client = new pg.Client({ connectionString: url, options })
  await client.connect()

  return { client, key }
}

/** Makes categories, half of them with a description, and a pet of each. */
export async function fill(client: Client, { rows }: Work): Promise<void> {
  await client.query('TRUNCATE categories RESTART IDENTITY CASCADE')
  await client.query(insertCategories, [rows])
  await client.query(insertPets)
  await client.query('VACUUM ANALYZE categories, pets')
}

/** Deletes what is created, until it is aborted. */
export async function trim(
  client: Client,
  { rows }: Work,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    await client.query('DELETE FROM categories WHERE id > $1', [rows])
    await setTimeout(100)
  }
}
