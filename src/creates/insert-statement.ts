import type { JsonSql } from '../postgres/json-sql.ts'
import { rawSql } from '../postgres/sql.ts'

/** What a statement stores in a table. */
export interface InsertDefinition<Schema> {
  table: string
  /** The SQL type of each column that the body sets. */
  columnTypes: Record<string, string>
  /** The id of a new row. */
  newIdSql: string
  /** The SQL expression of each further column, which the service sets. */
  serviceColumns?: Record<string, string>
  /** Writes the response, from the id and these columns. */
  rowJsonSql: JsonSql<Schema>
  /**
   * An SQL expression: `reference_locked` or `reference_unknown` if the row
   * cannot be stored, otherwise NULL.
   */
  rejectionSql?: string
}

/** What became of a row. The response of the first two is sent. */
export type RowOutcome =
  | 'created'
  /** An earlier request with this Idempotency-Key and body has created it. */
  | 'replayed'
  /** An earlier request with this Idempotency-Key had another body. */
  | 'reused'
  /** Another request with this Idempotency-Key is in progress. */
  | 'in_use'
  /** From `rejectionSql`: what the row refers to is locked. */
  | 'reference_locked'
  /** From `rejectionSql`: what the row refers to does not exist. */
  | 'reference_unknown'

/**
 * The statement that stores a batch of rows without an Idempotency-Key, which
 * would take twice as long in the other statement below.
 *
 * No row that openapi.yaml allows can make another row fail: the statement finds
 * out beforehand what each row could violate.
 *
 * For example, createPet gets two bodies, of which the second refers to a
 * category that does not exist. generated/statements.sql has the whole
 * statement.
 *
 *     $1: [["Bella", 1, "available"], ["Milo", 404, "sold"]]
 *
 *     outcome           | response
 *     created           | {"id":7,"name":"Bella","categoryId":1,"status":"available"}
 *     reference_unknown | NULL
 *
 * `$1` is a JSON array of rows, each an array of the values of its body columns.
 *
 * A row that is rejected has no id. `stored` therefore selects the rows
 * `WHERE id IS NOT NULL`. With `WHERE outcome = 'created'`, the planner would
 * expect a single row, and compare every row with every other one.
 */
export function insertSql<Schema>(definition: InsertDefinition<Schema>) {
  const { table, columnTypes, rejectionSql = 'NULL' } = definition
  const columns = columnsSql(definition)

  return rawSql`
    WITH ${inputSql(columnTypes)},

    checked AS MATERIALIZED (
      SELECT *, coalesce(${rejectionSql}, 'created') AS outcome
      FROM input
    ),

    ${candidateSql(definition)},

    stored AS (
      INSERT INTO ${table} (${columns})
      SELECT ${columns}
      FROM candidate
      WHERE id IS NOT NULL
      RETURNING id
    )

    SELECT
      CASE
        WHEN outcome <> 'created' THEN outcome
        WHEN stored.id IS NULL THEN raise_not_stored('${table}')
        ELSE 'created'
      END AS outcome,
      response
    FROM candidate
    LEFT JOIN stored ON stored.id = candidate.id
    ORDER BY ordinal
  `
}

/**
 * The same for requests with an Idempotency-Key, which is stored in the same
 * commit as its row. In `$1`, two hashes follow the values of a row: that of the
 * Idempotency-Key, and that of the body.
 *
 * Nothing waits for another request with the same Idempotency-Key. That request
 * holds an advisory lock until it commits, on whatever replica it is. If it has
 * committed after this statement began, `earlier` cannot see its
 * Idempotency-Key, but ON CONFLICT does. In both cases the row is `in_use`.
 *
 * `pg_logical_emit_message` is called for its effect: it writes to the WAL, so
 * the commit of a replay waits for a synchronous standby. Otherwise, a replay
 * could acknowledge a row that the standby does not have yet.
 */
export function insertIdempotentSql<Schema>(
  definition: InsertDefinition<Schema>
) {
  const { table, columnTypes, rejectionSql = 'NULL' } = definition
  const columns = columnsSql(definition)

  return rawSql`
    WITH ${inputSql({ ...columnTypes, key_hash: 'bytea', body_hash: 'bytea' })},

    checked AS MATERIALIZED (
      SELECT
        *,
        coalesce(
          CASE
            WHEN earlier_body_hash = body_hash
              AND pg_logical_emit_message(true, 'replay', '') IS NOT NULL
              THEN 'replayed'
            WHEN earlier_body_hash IS NOT NULL
              THEN 'reused'
            WHEN row_number() OVER (PARTITION BY key_hash ORDER BY ordinal) > 1
              OR NOT pg_try_advisory_xact_lock(
                hashtextextended(key_hash::text, 0)
              )
              THEN 'in_use'
          END,
          ${rejectionSql},
          'created'
        ) AS outcome
      FROM input
      LEFT JOIN LATERAL (
        SELECT body_hash AS earlier_body_hash, response AS earlier_response
        FROM idempotency_keys
        WHERE idempotency_keys.key_hash = input.key_hash
        LIMIT 1
      ) AS earlier ON true
    ),

    ${candidateSql(definition)},

    new_idempotency_key AS (
      INSERT INTO idempotency_keys (key_hash, body_hash, response)
      SELECT key_hash, body_hash, response
      FROM candidate
      WHERE id IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING key_hash
    ),

    stored AS (
      INSERT INTO ${table} (${columns})
      SELECT ${columns}
      FROM candidate
      JOIN new_idempotency_key USING (key_hash)
      WHERE id IS NOT NULL
      RETURNING id
    )

    SELECT
      CASE
        WHEN outcome <> 'created' THEN outcome
        WHEN new_idempotency_key.key_hash IS NULL THEN 'in_use'
        WHEN stored.id IS NULL THEN raise_not_stored('${table}')
        ELSE 'created'
      END AS outcome,
      coalesce(earlier_response, response) AS response
    FROM candidate
    LEFT JOIN new_idempotency_key USING (key_hash)
    LEFT JOIN stored ON stored.id = candidate.id
    ORDER BY ordinal
  `
}

/** The columns of a new row. */
const columnsSql = <Schema>({
  columnTypes,
  serviceColumns
}: InsertDefinition<Schema>) =>
  ['id', ...Object.keys({ ...columnTypes, ...serviceColumns })].join(', ')

/** The rows of `$1`. */
function inputSql(columnTypes: Record<string, string>): string {
  const values = Object.entries(columnTypes).map(
    ([column, type], index) => `(value ->> ${index})::${type} AS ${column}`
  )

  return rawSql`input AS MATERIALIZED (
      SELECT ${values.join(', ')}, ordinal
      FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
    )`
}

/** All rows. Those that can be stored have an id, in the order of `$1`. */
function candidateSql<Schema>({
  newIdSql,
  serviceColumns = {},
  rowJsonSql
}: InsertDefinition<Schema>): string {
  const own = Object.entries(serviceColumns).map(
    ([column, value]) => `${value} AS ${column},`
  )

  return rawSql`candidate AS MATERIALIZED (
      SELECT *, ${rowJsonSql} AS response
      FROM (
        SELECT
          *,
          ${own.join(' ')}
          CASE WHEN outcome = 'created' THEN ${newIdSql} END AS id
        FROM checked
        ORDER BY ordinal
      ) AS numbered
    )`
}
