import { inputRows, sql } from '../postgres/sql.ts'
import {
  inputColumns,
  type InsertSql,
  newRows,
  storedColumns
} from './insert.ts'

/**
 * The requests with what is recorded for their keys. A key without a record is
 * free for the first request with it, unless another transaction holds it.
 *
 * - The advisory lock shows that another transaction holds a key. Without it,
 *   the INSERT would wait for that transaction, and with it the whole group.
 * - The message makes a replay a write, whose commit waits for the synchronous
 *   standby: a record may be visible before the standby has it.
 */
const requestsWithRecords = sql`
  SELECT
    request.*,
    record.fingerprint AS recorded_fingerprint,
    record.response AS recorded_response,
    CASE
      WHEN record.response IS NOT NULL THEN false
      WHEN row_number() OVER same_key > 1 THEN false
      ELSE pg_try_advisory_xact_lock(
        hashtextextended(encode(key, 'hex'), 0)
      )
    END AS is_free
  FROM request
  LEFT JOIN LATERAL (
    SELECT
      fingerprint,
      response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key = request.key
    LIMIT 1
  ) AS record ON true
  WINDOW same_key AS (PARTITION BY key ORDER BY ordinal)
`

/**
 * The statement that inserts rows once for each Idempotency-Key, and records
 * the response of each key. It returns a Result for each request, in their
 * order. Only a row that is stored uses an id, unless two replicas claim its
 * key within the same milliseconds.
 */
export function insertOnceStatement(insert: InsertSql): string {
  const columns = {
    ...inputColumns(insert),
    key: 'bytea',
    fingerprint: 'bytea'
  }

  return sql`
    WITH request AS (
      SELECT *
      FROM ${inputRows(columns)}
    ),
    input AS MATERIALIZED (
      ${requestsWithRecords}
    ),
    ${newRows(insert, 'obstacle IS NULL AND is_free')},
    claimed AS (
      INSERT INTO idempotency_keys (key, fingerprint, response)
      SELECT key, fingerprint, response
      FROM new_row
      WHERE response IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING key, fingerprint, response
    ),
    stored AS (
      INSERT INTO ${insert.table} (${storedColumns(insert)})
      SELECT ${storedColumns(insert)}
      FROM new_row
      WHERE response IN (SELECT response FROM claimed)
      ORDER BY ordinal
      RETURNING id
    )
    SELECT
      CASE
        WHEN stored.id IS NOT NULL THEN 'created'
        WHEN claimed.response = new_row.response
          THEN missing_row('${insert.table}')
        WHEN coalesce(recorded_fingerprint, claimed.fingerprint)
          = new_row.fingerprint THEN 'replayed'
        WHEN coalesce(recorded_fingerprint, claimed.fingerprint)
          IS NOT NULL THEN 'reused'
        ELSE coalesce(obstacle, 'held')
      END AS outcome,
      coalesce(recorded_response, claimed.response) AS response
    FROM new_row
    LEFT JOIN claimed ON claimed.key = new_row.key
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY ordinal
  `
}
