import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
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
