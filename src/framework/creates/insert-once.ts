import { inputTable, sql } from '../postgres/sql.ts'
import {
  inputTypes,
  type InsertSql,
  uniqueColumnOf,
  newRows,
  storedColumns
} from './insert.ts'

/**
 * The requests with what is recorded for their Idempotency-Keys, and the state
 * of each key:
 *
 * - recorded: an earlier statement has stored its response.
 * - repeated: an earlier request of this statement has it.
 * - claimable: this request may claim it.
 * - held: another transaction is about to claim it.
 *
 * Why the statement works in this way:
 *
 * - The advisory lock shows that another transaction holds a key. Without it,
 *   the INSERT would wait for that transaction, and so would the whole group.
 * - The message makes a replay a write, whose commit waits for the synchronous
 *   standby: a record may be visible before the standby has it.
 */
const requestsWithRecords = sql`
  SELECT
    request.*,
    record.fingerprint AS recorded_fingerprint,
    record.response AS recorded_response,
    CASE
      WHEN record.response IS NOT NULL THEN 'recorded'
      WHEN row_number() OVER same_key > 1 THEN 'repeated'
      WHEN pg_try_advisory_xact_lock(
        hashtextextended(encode(key_hash, 'hex'), 0)
      ) THEN 'claimable'
      ELSE 'held'
    END AS key_state
  FROM request
  LEFT JOIN LATERAL (
    SELECT
      fingerprint,
      response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key = request.key_hash
    LIMIT 1
  ) AS record ON true
  WINDOW same_key AS (PARTITION BY key_hash ORDER BY ordinal)
`

/**
 * The statement that inserts rows once for each Idempotency-Key, and records
 * the response of each key. It returns a RowOutcome for each request, in their
 * order. Only a row that is stored uses an id, unless two replicas claim its
 * key within the same milliseconds.
 */
export function insertOnceStatement(insert: InsertSql): string {
  const uniqueColumn = uniqueColumnOf(insert)
  const types = {
    ...inputTypes(insert),
    key_hash: 'bytea',
    fingerprint: 'bytea'
  }

  return sql`
    WITH request AS (
      SELECT *
      FROM ${inputTable(types)}
    ),
    input AS MATERIALIZED (
      ${requestsWithRecords}
    ),
    ${newRows(insert, `obstacle IS NULL AND key_state = 'claimable'`)},
    claimed AS (
      INSERT INTO idempotency_keys (key, fingerprint, response)
      SELECT key_hash, fingerprint, response
      FROM new_row
      WHERE response IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING key, fingerprint, response
    ),
    stored AS (
      INSERT INTO ${insert.table} (${storedColumns(insert)})
      SELECT ${storedColumns(insert)}
      FROM new_row
      WHERE key_state = 'claimable'
        AND key_hash IN (SELECT key FROM claimed)
      ORDER BY ordinal
      RETURNING ${uniqueColumn}
    ),
    known AS (
      SELECT
        new_row.${uniqueColumn},
        ordinal,
        obstacle,
        new_row.fingerprint,
        key_state = 'claimable' AND claimed.key IS NOT NULL AS has_claimed,
        coalesce(recorded_fingerprint, claimed.fingerprint)
          AS known_fingerprint,
        coalesce(recorded_response, claimed.response) AS response
      FROM new_row
      LEFT JOIN claimed ON claimed.key = new_row.key_hash
    )
    ${outcomes(insert.table, uniqueColumn)}
  `
}

/**
 * The outcome of each request, depending on what is known about its key. The
 * first of these conditions that holds decides:
 *
 * 1. The request has claimed its key, and its row is stored.
 * 2. It has claimed its key, but a trigger has dropped its row: the statement
 *    fails.
 * 3. Another request has claimed the key, for the same body.
 * 4. Another request has claimed the key, for another body.
 * 5. Nothing is known about the key, and the row cannot be stored.
 * 6. Another transaction holds the key, or has just committed it.
 */
function outcomes(table: string, uniqueColumn: string): string {
  return sql`
    SELECT
      ordinal::integer,
      CASE
        WHEN stored.${uniqueColumn} IS NOT NULL THEN 'created'
        WHEN has_claimed THEN missing_row('${table}')
        WHEN fingerprint = known_fingerprint THEN 'replayed'
        WHEN known_fingerprint IS NOT NULL THEN 'reused'
        WHEN obstacle IS NOT NULL THEN obstacle
        ELSE 'held'
      END AS outcome,
      response
    FROM known
    LEFT JOIN stored ON stored.${uniqueColumn} = known.${uniqueColumn}
    ORDER BY ordinal
  `
}
