import type { BodyColumn, RowJson } from '../openapi/json.ts'
import { inputTable, limitLockWait, sql } from '../postgres/sql.ts'
import type { KeyedRequest } from './idempotency-key.ts'

/** An operation that creates a row of a table from its request. */
export interface InsertDefinition<Body, Params, Status, Schema> {
  /**
   * Each operation has its own Idempotency-Keys. If a later version changed its
   * id, a request that is sent again would create a second row.
   */
  operationId: string
  /** The status of the response. */
  status: Status
  table: string
  /** An SQL expression for the id of a new row. */
  id: string
  /** From generated/columns.ts. */
  columns: BodyColumn<Body>[]
  /**
   * Columns whose values are not in the body: an id in the path, or the owner,
   * `apiKeyCheck.root`.
   */
  fromRequest?: {
    column: string
    /** The SQL type of the column. */
    type: string
    value: (request: KeyedRequest<Body, Params>) => unknown
  }[]
  /**
   * An SQL expression of the columns above, for rows that cannot be stored:
   * - NULL: the row can be stored
   * - 'invalid': the request breaks a rule
   * - 'blocked': another transaction has locked a row that it refers to, so it
   *   must be tried again
   */
  obstacle?: string
  /**
   * The responses to rows that cannot be stored, by the names of the
   * constraints that they violate, and to those that are `invalid`. Requests of
   * the same statement run again after a violation, which `obstacle` avoids.
   */
  errors?: Record<string, (request: KeyedRequest<Body, Params>) => Error>
  /** Writes the response to a row. From generated/json.ts. */
  json: RowJson<Schema>
  /**
   * The URL of the new row for the header `Location`, relative to the URL of
   * the request: a proxy may change the base path.
   */
  location?: (id: string) => string
}

/** What a statement did with one input row. */
export type RowOutcome =
  | { outcome: 'created' | 'replayed'; response: string }
  | { outcome: 'invalid' | 'reused' | 'blocked' }

/**
 * The statement that inserts rows. It returns a RowOutcome for each input row,
 * in their order.
 *
 * Only a row to store has an id. The planner expects few NULLs, so it matches
 * the stored rows by a hash of their ids. If `obstacle` selected them, it would
 * expect one row, and compare each with each. The response is made from the
 * stored row, with what triggers have changed.
 *
 * @param areKeyed whether rows may have Idempotency-Keys. Without keys, a
 *   statement that has nothing to do with their table is faster
 */
export function insertStatement<Body, Params, Status, Schema>(
  definition: InsertDefinition<Body, Params, Status, Schema>,
  areKeyed: boolean
): string {
  const { table, id, columns, fromRequest = [], json } = definition
  const { obstacle = 'NULL' } = definition
  const types = Object.fromEntries(
    [...columns, ...fromRequest].map(({ column, type }) => [column, type])
  )
  const names = ['id', ...Object.keys(types)].join(', ')

  return sql`
    WITH new_row AS MATERIALIZED (
      SELECT
        *,
        CASE WHEN obstacle IS NULL THEN
          ${id}
        END AS id
      FROM (
        SELECT
          *,
          ${areKeyed ? keyedObstacle(obstacle) : obstacle}
          AS obstacle
        FROM ${areKeyed ? keyedInput(types) : inputTable(types)}
        WHERE ${limitLockWait}
      ) AS checked
      ORDER BY ordinal
    ),
    stored AS (
      INSERT INTO ${table} (${names})
      SELECT ${names}
      FROM new_row
      WHERE id IS NOT NULL
      RETURNING
        id,
        ${json.expression}
        AS response
    )${areKeyed ? recordKeys : ''}
    SELECT
      CASE
        WHEN obstacle IS NOT NULL THEN obstacle
        WHEN stored.id IS NULL THEN missing_row('${table}')
        ELSE 'created'
      END AS outcome,
      ${areKeyed ? 'coalesce(recorded_response, response) AS ' : ''}response
    FROM new_row
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}

/** A key that is recorded is an obstacle, too. */
const keyedObstacle = (obstacle: string) => sql`
  CASE
    WHEN recorded_hash = body_hash THEN 'replayed'
    WHEN recorded_hash IS NOT NULL THEN 'reused'
    ELSE ${obstacle}
  END`

/**
 * The rows with the record of their Idempotency-Key. pg_logical_emit_message
 * makes a replay a write, whose commit waits for the synchronous standby: a
 * record may be visible before the standby has it.
 */
const keyedInput = (types: Record<string, string>) => sql`
  ${inputTable({ ...types, key_hash: 'bytea', body_hash: 'bytea' })}
  LEFT JOIN LATERAL (
    SELECT
      body_hash AS recorded_hash,
      response AS recorded_response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key_hash = input.key_hash
    LIMIT 1
  ) AS record ON true`

/**
 * Records the response of each key in the same commit. A key that another
 * transaction records at the same time, or another row of this statement,
 * violates idempotency_keys_pkey: nothing is stored. Statements record keys in
 * the same order, so that they do not deadlock.
 */
const recordKeys = sql`
  ,
  recorded AS (
    INSERT INTO idempotency_keys (key_hash, body_hash, response)
    SELECT key_hash, body_hash, response
    FROM new_row
    JOIN stored ON stored.id = new_row.id
    WHERE key_hash IS NOT NULL
    ORDER BY key_hash
  )`
