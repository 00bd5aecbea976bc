import type { BodyColumn, RowExpression, RowJson } from '../openapi/json.ts'
import { inputTable, sql } from '../postgres/sql.ts'

/** The SQL that the statements of an insert are made from. */
export interface InsertSql {
  table: string
  /**
   * The name of the operation, by default its table. A second operation that
   * creates rows of the table needs a name. Its statements are named after it,
   * and its Idempotency-Keys are separate. If a later version changed the name,
   * a request that is sent again would create a second row.
   */
  name?: string
  /** Columns for the properties of a body. */
  body: { column: string; type: string }[]
  /** Columns whose values the service makes, by name. */
  fromService?: Record<string, { type: string; value: () => string }>
  /** Columns whose values PostgreSQL makes: SQL expressions, by name. */
  fromDatabase: Record<string, string>
  /** Finds rows that cannot be stored, unless all can. */
  check?: { statement: string }
  /** A column whose values are unique, by default `id`. */
  uniqueColumn?: string
  /** Writes the response to a row. */
  json: RowExpression
}

/** The statements and Idempotency-Keys of an operation are named after this. */
export const nameOf = ({ name, table }: InsertSql) => name ?? table

/** A column whose values are unique, in the table and among the input rows. */
export const uniqueColumnOf = ({ uniqueColumn = 'id' }: InsertSql) =>
  uniqueColumn

/** How the bodies of requests become rows of a table. */
export interface InsertDefinition<Body, Schema> extends InsertSql {
  /** From generated/columns.ts. */
  body: BodyColumn<Body>[]
  check?: RowCheck<Body>
  /** Writes the response to a row. From generated/json.ts. */
  json: RowJson<Schema>
}

/** Finds input rows that cannot be stored. */
export interface RowCheck<Body> {
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

/**
 * The message of the 400 for a body that the check found invalid.
 *
 * @throws Error without a check, because only a check makes a row invalid
 */
export function messageOfInvalid<Body>(
  { table, check }: { table: string; check?: RowCheck<Body> },
  body: Body
): string {
  if (check === undefined)
    throw new Error(`an insert into ${table} without a check was invalid`)
  return check.message(body)
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
  const uniqueColumn = uniqueColumnOf(insert)

  return sql`
    WITH input AS (
      SELECT *
      FROM ${inputTable(inputTypes(insert))}
    ),
    ${newRows(insert, 'obstacle IS NULL')},
    stored AS (
      INSERT INTO ${insert.table} (${storedColumns(insert)})
      SELECT ${storedColumns(insert)}
      FROM new_row
      WHERE response IS NOT NULL
      ORDER BY ordinal
      RETURNING ${uniqueColumn}
    )
    SELECT
      ordinal::integer,
      CASE
        WHEN stored.${uniqueColumn} IS NOT NULL THEN 'created'
        WHEN response IS NOT NULL THEN missing_row('${insert.table}')
        ELSE obstacle
      END AS outcome,
      response
    FROM new_row
    LEFT JOIN stored ON stored.${uniqueColumn} = new_row.${uniqueColumn}
    ORDER BY ordinal
  `
}

/**
 * Both statements of an insert need a complete definition.
 *
 * @throws Error that says what is missing
 */
export function requireComplete(insert: InsertSql): void {
  requireUniqueColumn(insert)
  requireValues(insert)
}

/** The statements match stored rows with their requests by this column. */
function requireUniqueColumn(insert: InsertSql): void {
  const uniqueColumn = uniqueColumnOf(insert)

  if (!(uniqueColumn in valuesOf(insert))) {
    throw new Error(
      `an insert into ${insert.table} must give each row a unique column ` +
        `${uniqueColumn}, in fromDatabase, fromService or body. ` +
        'If the table has another unique column, name it as uniqueColumn'
    )
  }
}

/**
 * The response is made before the row, so it needs the value of each column.
 */
function requireValues(insert: InsertSql): void {
  const values = valuesOf(insert)
  const missing = insert.json.columns.filter((column) => !(column in values))
  if (missing.length > 0) {
    throw new Error(
      `an insert into ${insert.table} must give a value to ` +
        `${missing.join(' and ')}, because its response has them: ` +
        'write an SQL expression in fromDatabase, even if it is the default ' +
        'of the column, or a value in fromService'
    )
  }
}

/** Where the values of a new row come from, by column. */
function valuesOf(insert: InsertSql): Record<string, string> {
  return { ...insert.fromDatabase, ...inputTypes(insert) }
}

/** The SQL types of the columns of `input`, by name. */
export function inputTypes(insert: InsertSql): Record<string, string> {
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
  const bodyValues = insert.body.map(({ property }) => body[property])
  const serviceValues = Object.values(insert.fromService ?? {}).map(
    ({ value }) => value()
  )

  return [...bodyValues, ...serviceValues]
}

/** The columns of the table that a new row has. */
export function storedColumns(insert: InsertSql): string {
  return Object.keys(valuesOf(insert)).join(', ')
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
    completed AS (
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
          ${insert.json.expression}
        END AS response
      FROM completed
    )
  `
}
