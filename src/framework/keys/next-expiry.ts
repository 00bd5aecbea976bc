import type { Database } from '../postgres/database.ts'
import { measuredGauge } from '../postgres/measured-gauge.ts'
import { sql } from '../postgres/sql.ts'

/** A client that has yet to change to a rotated key still uses the old one. */
const nextExpirySql = sql`
  SELECT
    coalesce(extract(epoch FROM min(expires_at) - now()), 'Infinity')::float8
      AS value
  FROM api_keys
  WHERE revoked_at IS NULL
    AND expires_at > now()
    AND last_used_at > now() - interval '1 hour'
`

/** Measures when the first API key in use expires. */
export const measureNextExpiry = (database: Database): void =>
  measuredGauge(database, {
    name: 'api_keys_next_expiry_seconds',
    help: 'Time until the first API key expires that was used in the last hour; +Inf without one',
    text: nextExpirySql
  })
