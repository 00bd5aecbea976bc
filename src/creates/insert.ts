import type { BodyColumn, RowJson } from '../openapi/json.ts'
import { inputRows, sql } from '../postgres/sql.ts'

/** The privileges that the statements of all inserts need. */
export const insertPrivileges = { 'FUNCTION missing_row(text)': 'EXECUTE' }

/** The SQL that the statements of an insert are made from. */
export interface InsertSql {
  table: string
  /** Columns for the properties of a body. */
  body: { column: string; type: string }[]
  /** Columns whose values the service makes, by name. */
  fromService?: Record<string, { type: string; value: () => string }>
  /** Columns whose values PostgreSQL makes: SQL expressions, by name. */
  fromDatabase: Record<string, string>
  /** Finds rows that cannot be stored, unless all can. */
  check?: { statement: string }
  /** The response to a row. It has the `id`. */
  row: { readonly expression: string }
}

/** How the bodies of requests become rows of a table. */
export interface InsertDefinition<Body, Schema> extends InsertSql {
  /** From generated/columns.ts. */
  body: BodyColumn<Body>[]
  check?: Check<Body>
  /** From generated/json.ts. */
  row: RowJson<Schema>
}

/** Finds input rows that cannot be stored. */
export interface Check<Body> {
  /**
   * A SELECT of each row of `input`, once, with a further column, `obstacle`:
   * - NULL: the row can be stored
   * - 'invalid': the body breaks a rule
   * - 'locked': a row that it refers to is locked, so it must be tried again
   */
  statement: string
  /** The message of the 400 for an invalid body. */
  message: (body: Body) => string
}

/** What became of one input row, by its ordinal. */
export type RowOutcome = { ordinal: number } & (
  | { outcome: 'created' | 'replayed'; response: string }
  | { outcome: 'invalid' | 'reused' | 'held' | 'locked' }
)

/**
 * The statement that inserts rows. It returns a RowOutcome for each input row,
 * in their order.
 */
export function insertStatement(insert: InsertSql): string {
  requireId(insert)

  return sql`
    WITH input AS (
      SELECT *
      FROM ${inputRows(inputColumns(insert))}
    ),
    ${newRows(insert, 'obstacle IS NULL')},
    stored AS (
      INSERT INTO ${insert.table} (${storedColumns(insert)})
      SELECT ${storedColumns(insert)}
      FROM new_row
      WHERE response IS NOT NULL
      ORDER BY ordinal
      RETURNING id
    )
    SELECT
      ordinal::integer,
      CASE
        WHEN stored.id IS NOT NULL THEN 'created'
        WHEN response IS NOT NULL THEN missing_row('${insert.table}')
        ELSE obstacle
      END AS outcome,
      response
    FROM new_row
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}

/** The statements match stored rows with their requests by this column. */
function requireId(insert: InsertSql): void {
  const columns = { ...insert.fromDatabase, ...inputColumns(insert) }

  if (!('id' in columns)) {
    throw new Error(
      `an insert into ${insert.table} must give each row a unique column id, ` +
        'in fromDatabase, fromService or body'
    )
  }
}

/** The SQL types of the columns of `input`, by name. */
export function inputColumns(insert: InsertSql): Record<string, string> {
  const columns: Record<string, string> = {}

  for (const { column, type } of insert.body) columns[column] = type
  for (const [column, { type }] of Object.entries(insert.fromService ?? {}))
    columns[column] = type

  return columns
}

/** The values of an input row, in the order of its columns. */
export function inputValues<Body, Schema>(
  insert: InsertDefinition<Body, Schema>,
  body: Body
): unknown[] {
  const ofBody = insert.body.map(({ property }) => body[property])
  const ofService = Object.values(insert.fromService ?? {})

  return [...ofBody, ...ofService.map(({ value }) => value())]
}

/** The columns of the table that a new row has. */
export function storedColumns(insert: InsertSql): string {
  const columns = { ...insert.fromDatabase, ...inputColumns(insert) }

  return Object.keys(columns).join(', ')
}

/**
 * The common table expressions from `input` to `new_row`. Only a row to store
 * uses an id and has a response. That is made before the row is stored, so a
 * trigger that changes the row does not change the response.
 *
 * @param storedIf an SQL condition for the rows to store
 */
export function newRows(insert: InsertSql, storedIf: string): string {
  const fromDatabase = Object.entries(insert.fromDatabase).map(
    ([column, value]) => `CASE WHEN ${storedIf} THEN ${value} END AS ${column},`
  )

  return sql`
    checked AS MATERIALIZED (
      ${insert.check?.statement ?? 'SELECT *, NULL AS obstacle FROM input'}
    ),
    numbered AS (
      SELECT
        ${fromDatabase.join('\n')}
        checked.*
      FROM checked
      ORDER BY ordinal
    ),
    new_row AS (
      SELECT
        *,
        CASE WHEN ${storedIf} THEN
          ${insert.row.expression}
        END AS response
      FROM numbered
    )
  `
}
