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
  SELECT
    'Pet ' || n,
    1 + n % 10,
    (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
  FROM generate_series(1, $1::int) AS n
`

/**
 * Fills the table of a work: categories, half of them with a description, or
 * pets of ten categories.
 */
export async function fill(client: Client, work: Work): Promise<void> {
  const { rows, hasPets = false } = work
  await client.query('TRUNCATE categories RESTART IDENTITY CASCADE')
  await client.query(insertCategories, [hasPets ? 10 : rows])
  if (hasPets) await client.query(insertPets, [rows])
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
