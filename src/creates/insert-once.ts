import { inputRows, sql } from '../postgres/sql.ts'
import {
  inputColumns,
  type InsertSql,
  newRows,
  storedColumns
} from './insert.ts'

/**
 * The statement that inserts rows once for each Idempotency-Key, and records
 * the response of each key. It returns a Result for each request, in their
 * order. Only a row that is stored uses an id, unless two replicas claim its
 * key within the same milliseconds.
 *
 * - The advisory lock shows that another transaction holds a key. Without it,
 *   the INSERT would wait for that transaction, and with it the whole group.
 * - The message makes a replay a write, whose commit waits for the synchronous
 *   standby: a record may be visible before the standby has it.
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
    recorded AS MATERIALIZED (
      SELECT request.ordinal, record.fingerprint, record.response
      FROM request
      CROSS JOIN LATERAL (
        SELECT
          fingerprint,
          response,
          pg_logical_emit_message(true, 'idempotency-key', '')
        FROM idempotency_keys
        WHERE idempotency_keys.key = request.key
        LIMIT 1
      ) AS record
    ),
    input AS MATERIALIZED (
      SELECT DISTINCT ON (key) request.*
      FROM request
      WHERE ordinal NOT IN (SELECT ordinal FROM recorded)
        AND pg_try_advisory_xact_lock(hashtextextended(encode(key, 'hex'), 0))
      ORDER BY key, ordinal
    ),
    ${newRows(insert)},
    claimed AS (
      INSERT INTO idempotency_keys (key, fingerprint, response)
      SELECT key, fingerprint, response
      FROM new_row
      ON CONFLICT DO NOTHING
      RETURNING key, fingerprint, response
    ),
    stored AS (
      INSERT INTO ${insert.table} (${storedColumns(insert)})
      SELECT ${storedColumns(insert)}
      FROM new_row
      WHERE key IN (SELECT key FROM claimed)
      ORDER BY ordinal
      RETURNING id
    )
    SELECT
      CASE
        WHEN stored.id IS NOT NULL THEN 'created'
        WHEN new_row.key = claimed.key THEN missing_row('${insert.table}')
        WHEN recorded.fingerprint = request.fingerprint THEN 'replayed'
        WHEN claimed.fingerprint = request.fingerprint THEN 'replayed'
        WHEN recorded.fingerprint IS NOT NULL THEN 'reused'
        WHEN claimed.fingerprint IS NOT NULL THEN 'reused'
        WHEN checked.obstacle IS NOT NULL THEN checked.obstacle
        ELSE 'held'
      END AS outcome,
      coalesce(recorded.response, claimed.response) AS response
    FROM request
    LEFT JOIN recorded ON recorded.ordinal = request.ordinal
    LEFT JOIN checked ON checked.ordinal = request.ordinal
    LEFT JOIN new_row ON new_row.ordinal = request.ordinal
    LEFT JOIN claimed ON claimed.key = request.key
    LEFT JOIN stored ON stored.id = new_row.id
    ORDER BY request.ordinal
  `
}
