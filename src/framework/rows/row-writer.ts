import { type JsonBytes, objectBytes, type RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'

/** A statement that changes one row. */
interface RowChange {
  /** The name of the prepared statement. */
  name: string
  /** It returns the row, unless there is none that it may change. */
  statement: string
}

/** A statement that writes one row. */
interface RowWrite<Schema> extends RowChange {
  /**
   * Writes the row. From generated/json.ts. The statement returns the columns
   * of the schema.
   */
  json: RowJson<Schema>
}

/**
 * Writes one row, and returns it as JSON.
 *
 * @example
 * const renamePet = rowWriter(database, {
 *   name: 'rename-pet',
 *   statement: sql`UPDATE pets SET name = $2 WHERE id = $1 RETURNING *`,
 *   json: Pet
 * })
 *
 * @returns a function that writes the row with the parameters of the statement,
 *   and resolves with undefined if there is none; rejects like `Database.write`
 */
export function rowWriter<Schema>(
  database: Database,
  { name, statement, json }: RowWrite<Schema>
): (values: unknown[]) => Promise<JsonBytes<Schema> | undefined> {
  const text = sql`
    WITH item AS (
      ${statement}
    )
    SELECT
      ${json.expression}
      AS json
    FROM item
  `

  const prepared = database.statements.add(name, text)

  return async (values) => {
    const [written] = await database.write<{ json: string }>({
      ...prepared,
      values
    })

    return written && objectBytes(json, written.json)
  }
}

/**
 * Deletes one row.
 *
 * @example
 * const deletePet = rowDeleter(database, {
 *   name: 'delete-pet',
 *   statement: sql`DELETE FROM pets WHERE id = $1 RETURNING id`
 * })
 *
 * @returns a function that deletes the row with the parameters of the
 *   statement, and resolves with whether there was one; rejects like
 *   `Database.write`
 */
export function rowDeleter(
  database: Database,
  { name, statement: text }: RowChange
): (values: unknown[]) => Promise<boolean> {
  const prepared = database.statements.add(name, text)

  return async (values) => {
    const deleted = await database.write({ ...prepared, values })
    return deleted.length > 0
  }
}
