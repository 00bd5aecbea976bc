import type { Database } from '../postgres/database.ts'
import { sha256Bytea, rawSql } from '../postgres/sql.ts'
import { makeReadRow } from '../reads/row-reader.ts'
import { type ApiKey, isWellFormedApiKey } from './api-key.ts'

/**
 * Milliseconds for which a valid API key is trusted, counted from before its
 * look-up: a revoked API key stops working within a second.
 */
const trustMs = 900

/**
 * PostgreSQL has only the SHA-256 of an API key, whose 160 random bits need
 * neither salt nor stretching.
 */
const lookUpSql = rawSql`
  SELECT '\x' || encode(hash, 'hex') AS lookup_value, id, name, scopes
  FROM api_keys
  WHERE hash = ANY ($1)
    AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > now())
`

/**
 * Makes the function that finds the valid API key of a token. It trusts an API
 * key for a moment, and looks up any other well-formed token. It rejects with
 * DatabaseUnavailableError or OverloadedError when a token cannot be looked up.
 *
 * Trusted API keys are found by their text. V8 compares texts only if their
 * hashes agree, and seeds the hash, so the time of a check reveals nothing
 * about other API keys. Unknown tokens are not remembered, so a new API key
 * works immediately.
 */
export function makeFindApiKey(
  database: Database
): (token: string) => Promise<ApiKey | undefined> {
  const lookUp = makeReadRow<string, ApiKey & { lookup_value: string }>(
    database,
    database.defineStatement('lookUpApiKey', lookUpSql, { concurrency: 3 })
  )
  const trusted = new Map<string, { apiKey: ApiKey; until: number }>()

  return async (token) => {
    const now = performance.now()
    const known = trusted.get(token)
    if (known !== undefined && known.until > now) return known.apiKey
    if (!isWellFormedApiKey(token)) return undefined

    const apiKey = await lookUp(sha256Bytea(token))
    if (apiKey === undefined) trusted.delete(token)
    else trusted.set(token, { apiKey, until: now + trustMs })
    return apiKey
  }
}
