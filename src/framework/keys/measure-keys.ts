import { measurer } from '../tasks.ts'
import { sql } from '../postgres/sql.ts'

/**
 * An API key that was replaced counts only if it was used more than an hour
 * later, because its client has yet to change to the successor. For a key that
 * was not replaced, `greatest` ignores the NULL.
 */
const nextExpirySql = sql`
  SELECT extract(epoch FROM min(used.expires_at) - now())::float8 AS seconds
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
export const apiKeyMeasurer = measurer(
  'next-expiry-of-api-keys',
  nextExpirySql,
  (metrics) =>
    ({ seconds }: { seconds: number | null }) =>
      metrics.apiKeysNextExpiry.set(seconds ?? Infinity)
)
