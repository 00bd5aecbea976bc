import type { RawJson, RowJson } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../shared-reader.ts'

/** Rows that one statement reads. */
const maxRows = 100

/** A statement that reads one row. */
interface RowDefinition<Column extends string, Schema> {
  statementName: string
  /** The SQL types of the columns of `input`, by name. */
  inputTypes: Record<Column, string>
  /**
   * A SELECT of the row, with the columns of the schema. It finds the row by
   * the columns of `input`.
   */
  select: string
  /** Writes the row. From generated/json.ts. */
  json: RowJson<Schema>
}

interface Row<Schema> {
  json: RawJson<Schema, string> | null
}

/**
 * Reads one row as JSON. Requests that wait at the same time share a statement.
 *
 * @example
 * const readPet = rowReader(database, {
 *   statementName: 'getPet',
 *   inputTypes: { id: 'bigint' },
 *   select: sql`SELECT * FROM pets WHERE pets.id = input.id`,
 *   json: petJson
 * })
 *
 * @returns a function that reads the JSON of the row, undefined if there is
 *   none; rejects with the errors of `Database.run`, and with Overloaded if
 *   too many requests wait
 */
export function rowReader<Column extends string, Schema>(
  database: Database,
  { statementName, inputTypes, select, json }: RowDefinition<Column, Schema>
): (inputRow: InputRow<Column>) => Promise<RawJson<Schema> | undefined> {
  const text = sql`
    SELECT found.json
    FROM ${inputTable(inputTypes)}
    LEFT JOIN LATERAL (
      SELECT
        ${json.expression}
        AS json
      FROM (
        ${select}
      ) AS item
      LIMIT 1
    ) AS found ON true
    ORDER BY ordinal
  `
  const read = sharedReader<Column, Row<Schema>>(database, {
    statementName,
    inputTypes,
    text,
    maxInputRows: maxRows
  })

  return async (inputRow) => (await read(inputRow)).json ?? undefined
}
