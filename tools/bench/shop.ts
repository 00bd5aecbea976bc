import type { Client } from 'pg'

/** Selects the row `n` of a table. */
const selects = {
  categories: `'Category ' || n AS name, 'Loyal, needs long walks' AS description`,
  pets: `
    'Pet ' || n AS name,
    1 + n % (SELECT count(*) FROM categories) AS category_id,
    CASE WHEN n % 10 = 0 THEN 'sold' ELSE 'available' END AS status`,
  orders: `
    1 + n % (SELECT count(*) FROM pets) AS pet_id,
    now() + interval '1 day' AS ship_date,
    n % 2 = 0 AS complete`,
  messages: `
    time_ordered_uuid() AS id,
    'Hello from the quickstart ' || n AS message,
    CASE WHEN n % 2 = 0 THEN 'done' ELSE 'queued' END AS status`,
  idempotency_keys: `
    sha256(n::text::bytea) AS key_hash,
    sha256('') AS body_hash,
    '{"id":' || n || ',"name":"Rabbit","description":"Small mammals with long ears"}' AS response,
    now() - interval '12 hours' + n * interval '1 ms' AS created_at`,
  api_keys: `
    'client' AS name,
    sha256(n::text::bytea) AS hash,
    'petcat_' || n AS shown_part,
    now() + interval '1 day' AS expires_at,
    now() AS last_used_at`
}

type Table = keyof typeof selects

/** Adds rows until each table has so many, without the checks of references. */
export async function growTables(
  client: Client,
  rows: Partial<Record<Table, number>>
): Promise<void> {
  await client.query('SET session_replication_role = replica')
  for (const [table, count] of Object.entries(rows)) {
    const select = `SELECT ${selects[table as Table]} FROM generate_series(
      (SELECT count(*) FROM ${table}) + 1, ${count}) AS n`
    const { fields } = await client.query(`${select} LIMIT 0`)
    const columns = fields.map(({ name }) => name).join()
    await client.query(`INSERT INTO ${table} (${columns}) ${select}`)
  }
  await client.query('RESET session_replication_role')
  await client.query('VACUUM ANALYZE')
}

/** Lets the Idempotency-Keys of `growTables` expire. */
export async function expireKeys(client: Client): Promise<void> {
  // Faster than an UPDATE: it sorts the rows of each index.
  await client.query(
    `ALTER TABLE idempotency_keys
     ALTER created_at TYPE timestamptz USING created_at - interval '1 day'`
  )
  await client.query('VACUUM ANALYZE idempotency_keys')
}
