import type { Database } from '../postgres/database.ts'
import { measuredGauge } from '../postgres/measured-gauge.ts'
import { sql } from '../postgres/sql.ts'

/**
 * An API key that was replaced counts only if it was used more than an hour
 * later, because its client has yet to change to the successor. For a key that
 * was not replaced, `greatest` ignores the NULL.
 */
const nextExpirySql = sql`
  SELECT
    coalesce(
      extract(epoch FROM min(used.expires_at) - now()),
      'Infinity'
    )::float8 AS value
  FROM api_keys AS used
  LEFT JOIN api_keys AS successor ON successor.id = used.replaced_by
  WHERE used.revoked_at IS NULL
    AND used.expires_at > now()
    AND used.last_used_at > greatest(
      now() - interval '24 hours',
      successor.created_at + interval '1 hour'
    )
`

/** Measures when the first API key in use expires. */
export const measureNextExpiry = (database: Database): void =>
  measuredGauge(database, {
    name: 'api_keys_next_expiry_seconds',
    help: 'Time until the next API key in use expires; +Inf without one. In use: used in the last 24 hours, and, if replaced, more than an hour after its replacement',
    text: nextExpirySql
  })
