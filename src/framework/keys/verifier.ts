import { LRUCache } from 'lru-cache'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { hedged } from '../postgres/hedged.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { sharedReader } from '../shared-reader.ts'
import { type ApiKeyCheck, hashKey, isWellFormedKey } from './key.ts'
import { keyStateSql } from './store.ts'

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up.
 */
const trustMs = 900

/** Keys that one statement looks up. */
const maxLookedUp = 1000

/**
 * Keys that are trusted at the same time. With more, the least recently used
 * one is forgotten, and looked up again.
 */
const maxTrusted = 10_000

/**
 * Makes the function that checks the API key of a request. It trusts a valid
 * key for a moment, and looks up any other well-formed one. It rejects with
 * Unavailable or Overloaded when a key cannot be looked up now.
 *
 * Trusted keys are found by their text. V8 compares texts only if their hashes
 * agree, and seeds the hash, so the time of a check reveals nothing about other
 * keys. Invalid keys are not remembered, so a new key works immediately.
 *
 * @param apiKeyPrefix what well-formed keys begin with
 */
export function apiKeyChecker(
  database: Database,
  apiKeyPrefix: string
): (token: string) => Promise<ApiKeyCheck> {
  // One look-up runs at a time, so that a flood of invented keys costs only
  // shares of statements.
  const lookUp = sharedReader<'hash', ApiKeyCheck>(database, {
    statementName: 'look-up-api-keys',
    inputTypes,
    text: lookUpSql,
    maxInputRows: maxLookedUp,
    run: (query, values) =>
      hedged(() => database.run('internal', query, values))
  })
  const recordUseStatement = database.prepare(
    'record-use-of-api-keys',
    recordUseSql
  )
  const recordUse = batch(async (ids: bigint[]) => {
    await database.run('internal', recordUseStatement, [ids])
    return ids
  })
  const trusted = new LRUCache<string, ApiKeyCheck>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  return async (token) => {
    const known = trusted.get(token)
    if (known !== undefined) return known
    if (!isWellFormedKey(apiKeyPrefix, token)) return { state: 'malformed' }

    const start = performance.now()
    const check = await lookUp({ hash: hashKey(token) })
    if (check.state === 'valid') {
      trusted.set(token, check, { start })
      // In the background. If it fails, the next look-up records the use.
      if (!check.isUseRecorded) recordUse(check.id).catch(() => {})
    }

    return check
  }
}

const inputTypes = { hash: 'text' }

const lookUpSql = sql`
  SELECT
    id,
    coalesce(first_id, id) AS "firstId",
    ${keyStateSql} AS state,
    scopes,
    coalesce(last_used_at >= date_trunc('minute', now()), false)
      AS "isUseRecorded"
  FROM ${inputTable(inputTypes)}
  LEFT JOIN LATERAL (
    SELECT *
    FROM api_keys
    WHERE api_keys.hash = decode(input.hash, 'hex')
    LIMIT 1
  ) AS api_keys ON true
  ORDER BY ordinal
`

/**
 * Skips keys that another session has locked. A revocation waits for the locks
 * of this statement. To keep them short, its commit waits neither for the disk
 * nor for a standby.
 */
const recordUseSql = sql`
  UPDATE api_keys
  SET last_used_at = now()
  WHERE id IN (
    SELECT id
    FROM api_keys
    WHERE id = ANY ($1)
    FOR NO KEY UPDATE SKIP LOCKED
  )
    AND set_config('synchronous_commit', 'off', true) IS NOT NULL
`
