import type { JsonSql } from '../postgres/json-sql.ts'
import { rawSql } from '../postgres/sql.ts'

/** What a statement stores in a table. */
export interface InsertDefinition<Schema> {
  table: string
  /** The SQL type of each column that the body sets. */
  columnTypes: Record<string, string>
  /** An SQL expression for the id of a new row. */
  newId: string
  /** SQL expressions for further columns that the service sets, by column. */
  ownColumns?: Record<string, string>
  /** Writes the response, from the columns of both. */
  json: JsonSql<Schema>
  /**
   * An SQL expression: `locked` or `invalid` if the row cannot be stored,
   * otherwise NULL.
   */
  check?: string
}

/** What became of a row. Only the first two have a response. */
export type Outcome =
  | 'created'
  /** An earlier request with this Idempotency-Key and body has created it. */
  | 'replayed'
  /** An earlier request with this Idempotency-Key had another body. */
  | 'reused'
  /** Another request with this Idempotency-Key is in progress. */
  | 'in_use'
  /** From `check`: what the row refers to is locked. */
  | 'locked'
  /** From `check`: what the row refers to does not exist. */
  | 'invalid'

/**
 * The statement that stores a batch of rows. No row of a batch can make another
 * row fail: the statement finds out beforehand what each row could violate.
 *
 * `$1` is a JSON array of rows, each an array of the values of its body
 * columns. With `hasIdempotencyKeys`, two hashes follow them: that of the
 * Idempotency-Key and that of the body. The Idempotency-Key is stored in the
 * same commit as its row.
 *
 * Nothing waits for another request with the same Idempotency-Key. That request
 * holds an advisory lock until it commits, on whatever replica it is. If it has
 * committed after this statement began, `earlier` cannot see its
 * Idempotency-Key, but ON CONFLICT does. In both cases the row is `in_use`.
 *
 * For example, createPet gets two bodies, of which the second refers to a
 * category that does not exist. generated/statements.sql has the whole
 * statement.
 *
 *     $1: [["Bella", 1, "available"], ["Milo", 404, "sold"]]
 *
 *     outcome | response
 *     created | {"id":7,"name":"Bella","categoryId":1,"status":"available"}
 *     invalid | NULL
 *
 * A row that is not created has no id, and so no response. `stored` therefore
 * selects the rows `WHERE id IS NOT NULL`. With `WHERE outcome = 'created'`,
 * the planner would expect a single row, and compare every row with every other
 * one.
 *
 * There are two statements, because one for both kinds of rows would take half
 * as long again for a row without an Idempotency-Key.
 */
export function insertSql<Schema>(
  {
    table,
    columnTypes,
    newId,
    ownColumns = {},
    json,
    check = 'NULL'
  }: InsertDefinition<Schema>,
  { hasIdempotencyKeys }: { hasIdempotencyKeys: boolean }
): string {
  const ifIdempotent = (text: string) => (hasIdempotencyKeys ? text : '')
  const hashColumns = { key_hash: 'bytea', body_hash: 'bytea' }
  const inputColumns = {
    ...columnTypes,
    ...(hasIdempotencyKeys && hashColumns)
  }
  const input = Object.entries(inputColumns).map(
    ([column, type], index) => `(value ->> ${index})::${type} AS ${column}`
  )
  const own = Object.entries(ownColumns).map(
    ([column, value]) => `${value} AS ${column},`
  )
  const names = ['id', ...Object.keys({ ...columnTypes, ...ownColumns })]
  const columns = names.join(', ')

  return rawSql`
    WITH input AS MATERIALIZED (
      SELECT ${input.join(', ')}, ordinal
      FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
    ),

    checked AS MATERIALIZED (
      SELECT
        *,
        coalesce(
          ${ifIdempotent(idempotencyOutcomeSql)}
          ${check},
          'created'
        ) AS outcome
      FROM input
      ${ifIdempotent(earlierCreateSql)}
    ),

    new_row AS MATERIALIZED (
      SELECT *, ${json} AS response
      FROM (
        SELECT
          *,
          ${own.join(' ')}
          CASE WHEN outcome = 'created' THEN ${newId} END AS id
        FROM checked
        ORDER BY ordinal
      ) AS numbered
    ),

    ${ifIdempotent(newIdempotencyKeySql)}
    stored AS (
      INSERT INTO ${table} (${columns})
      SELECT ${columns}
      FROM new_row
      ${ifIdempotent('JOIN new_idempotency_key USING (key_hash)')}
      WHERE id IS NOT NULL
      RETURNING id
    )

    SELECT
      CASE
        WHEN outcome <> 'created' THEN outcome
        ${ifIdempotent(`WHEN new_idempotency_key.key_hash IS NULL THEN 'in_use'`)}
        WHEN stored.id IS NULL THEN raise_not_stored('${table}')
        ELSE 'created'
      END AS outcome,
      coalesce(${ifIdempotent('earlier_response, ')}response) AS response
    FROM new_row
    ${ifIdempotent('LEFT JOIN new_idempotency_key USING (key_hash)')}
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}

/** The creates with the Idempotency-Keys that have been stored. */
const earlierCreateSql = rawSql`LEFT JOIN LATERAL (
        SELECT body_hash AS earlier_body_hash, response AS earlier_response
        FROM idempotency_keys
        WHERE idempotency_keys.key_hash = input.key_hash
        LIMIT 1
      ) AS earlier ON true`

/**
 * What the Idempotency-Key of a row decides, or NULL. `pg_logical_emit_message`
 * is called for its effect: it writes to the WAL, so the commit of a replay
 * waits for a synchronous standby. Otherwise, a replay could acknowledge a row
 * that the standby does not have yet.
 */
const idempotencyOutcomeSql = rawSql`CASE
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
          END,`

const newIdempotencyKeySql = rawSql`new_idempotency_key AS (
      INSERT INTO idempotency_keys (key_hash, body_hash, response)
      SELECT key_hash, body_hash, response
      FROM new_row
      WHERE id IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING key_hash
    ),
`
