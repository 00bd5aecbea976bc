import type { BodyColumn, RowExpression, RowJson } from '../openapi/json.ts'
import { inputTable, limitLockWait, sql } from '../postgres/sql.ts'

/** The SQL that the statements of an insert are made from. */
interface InsertSql {
  table: string
  /**
   * What makes the id of a new row: an SQL expression, or a function of the
   * service and the SQL type of its result.
   */
  id: string | { type: string; value: () => string }
  /** Columns for the properties of a body. */
  body: { column: string; type: string }[]
  /** Finds rows that cannot be stored, unless all can. */
  check?: { statement: string }
  /** Writes the response to a row. */
  json: RowExpression
}

/** How the bodies of requests become rows of a table. */
export interface InsertDefinition<Body, Schema> extends InsertSql {
  /**
   * The name of the operation, by default its table. A second operation that
   * creates rows of the table needs a name. Its statements are named after it,
   * and its Idempotency-Keys are separate. If a later version changed the name,
   * a request that is sent again would create a second row.
   */
  name?: string
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

/** What a statement did with one input row, by its ordinal. */
export type RowOutcome = { ordinal: number } & (
  | { outcome: 'created' | 'replayed'; response: string }
  | { outcome: 'invalid' | 'reused' | 'locked' }
)

/**
 * The statement that inserts rows. It returns a RowOutcome for each input row,
 * in their order.
 */
export function insertStatement(insert: InsertSql): string {
  return sql`
    WITH input AS MATERIALIZED (
      SELECT *
      FROM ${inputTable(inputTypes(insert))}
      WHERE ${limitLockWait}
    ),
    ${storedRows(insert, 'obstacle IS NULL')}
    SELECT
      ordinal::integer,
      CASE
        WHEN obstacle IS NOT NULL THEN obstacle
        WHEN stored.id IS NULL THEN missing_row('${insert.table}')
        ELSE 'created'
      END AS outcome,
      response
    FROM new_row
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}

/**
 * The statement that inserts rows once for each Idempotency-Key, and records
 * the response of each key in the same commit. It returns a RowOutcome for each
 * input row, in their order.
 *
 * - A key that another transaction records at the same time, or another row of
 *   this statement, violates idempotency_keys_pkey: nothing is stored.
 * - Statements record keys in the same order, so that they do not deadlock.
 * - pg_logical_emit_message makes a replay a write, whose commit waits for the
 *   synchronous standby: a record may be visible before the standby has it.
 */
export function insertOnceStatement(insert: InsertSql): string {
  const types = { ...inputTypes(insert), key_hash: 'bytea', body_hash: 'bytea' }

  return sql`
    WITH input AS MATERIALIZED (
      SELECT input.*, record.fingerprint, record.response AS recorded_response
      FROM ${inputTable(types)}
      LEFT JOIN LATERAL (
        SELECT
          fingerprint,
          response,
          pg_logical_emit_message(true, 'idempotency-key', '')
        FROM idempotency_keys
        WHERE idempotency_keys.key = key_hash
        LIMIT 1
      ) AS record ON true
      WHERE ${limitLockWait}
    ),
    ${storedRows(insert, 'obstacle IS NULL AND recorded_response IS NULL')},
    recorded AS (
      INSERT INTO idempotency_keys (key, fingerprint, response)
      SELECT key_hash, body_hash, response
      FROM new_row
      JOIN stored ON stored.id = new_row.id
      ORDER BY key_hash
    )
    SELECT
      ordinal::integer,
      CASE
        WHEN fingerprint = body_hash THEN 'replayed'
        WHEN fingerprint IS NOT NULL THEN 'reused'
        WHEN obstacle IS NOT NULL THEN obstacle
        WHEN stored.id IS NULL THEN missing_row('${insert.table}')
        ELSE 'created'
      END AS outcome,
      coalesce(recorded_response, response) AS response
    FROM new_row
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}

/**
 * The common table expressions that store rows of `input`. Only a row to store
 * uses an id. The response is made from the stored row, with what triggers have
 * changed.
 *
 * @param isNew an SQL condition for the rows to store
 */
function storedRows(insert: InsertSql, isNew: string): string {
  const { table, id, body, check, json } = insert
  const columns = ['id', ...body.map(({ column }) => column)].join(', ')

  return sql`
    checked AS MATERIALIZED (
      ${check?.statement ?? 'SELECT *, NULL AS obstacle FROM input'}
    ),
    new_row AS MATERIALIZED (
      SELECT
        checked.*,
        CASE WHEN ${isNew} THEN
          ${typeof id === 'string' ? id : 'service_id'}
        END AS id
      FROM checked
      ORDER BY ordinal
    ),
    stored AS (
      INSERT INTO ${table} (${columns})
      SELECT ${columns}
      FROM new_row
      WHERE id IS NOT NULL
      RETURNING
        id,
        ${json.expression}
        AS response
    )
  `
}

/** The SQL types of the columns of `input`, by name. */
function inputTypes({ id, body }: InsertSql): Record<string, string> {
  const types = Object.fromEntries(
    body.map(({ column, type }) => [column, type])
  )
  return typeof id === 'string' ? types : { ...types, service_id: id.type }
}

/** The values of an input row, in the order of its columns. */
export function inputValues<Body, Schema>(
  { id, body: columns }: InsertDefinition<Body, Schema>,
  body: Body
): unknown[] {
  const values = columns.map(({ property }) => body[property])
  return typeof id === 'string' ? values : [...values, id.value()]
}
