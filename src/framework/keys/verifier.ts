import { LRUCache } from 'lru-cache'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import { type InputRow, sharedReader } from '../shared-reader.ts'
import { type ApiKeyCheck, hashKey, isWellFormedKey } from './key.ts'
import { keyStateSql } from './store.ts'

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
 * Skips keys that another session has locked. A revocation of the same key
 * waits for the lock of this statement, so its commit waits neither for the
 * disk nor for a standby.
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

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up.
 */
const trustMs = 900

/** Keys of one look-up. */
const maxLookedUp = 1000

/**
 * Keys that are trusted at the same time. The least recently used ones are
 * forgotten.
 */
const maxTrusted = 10_000

/**
 * Checks API keys. A valid key is trusted for a moment; any other well-formed
 * one is looked up. Requests share look-ups, and one runs at a time, so an
 * invented key costs a share of a statement. Invalid keys are not remembered.
 *
 * Trusted keys are found by their SHA-256, which clients cannot choose, so the
 * time of a check reveals nothing about other keys.
 */
export class ApiKeyVerifier {
  readonly #apiKeyPrefix: string
  readonly #trusted = new LRUCache<string, ApiKeyCheck>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  readonly #read: (inputRow: InputRow<'hash'>) => Promise<ApiKeyCheck>
  readonly #recordUse: (id: bigint) => Promise<unknown>

  /** @param apiKeyPrefix what well-formed keys begin with */
  constructor(database: Database, apiKeyPrefix: string) {
    this.#apiKeyPrefix = apiKeyPrefix
    this.#read = sharedReader(database, {
      statementName: 'look-up-api-keys',
      inputTypes,
      text: lookUpSql,
      maxInputRows: maxLookedUp,
      method: 'readForChecks'
    })
    const recordUse = database.prepare('record-use-of-api-keys', recordUseSql)
    this.#recordUse = batch(async (ids: bigint[]) => {
      await database.runInBackground({ ...recordUse, values: [ids] })
      return ids
    })
  }

  /**
   * Checks the API key of a request, with a look-up unless it is trusted or
   * malformed.
   *
   * @throws Unavailable or Overloaded when the key cannot be looked up now
   */
  check(token: string): ApiKeyCheck | Promise<ApiKeyCheck> {
    const hash = hashKey(token)
    const trusted = this.#trusted.get(hash)
    if (trusted !== undefined) return trusted
    if (!isWellFormedKey(this.#apiKeyPrefix, token))
      return { state: 'malformed' }

    return this.#lookUp(hash)
  }

  async #lookUp(hash: string): Promise<ApiKeyCheck> {
    const start = performance.now()
    const check = await this.#read({ hash })
    if (check.state === 'valid') {
      this.#trusted.set(hash, check, { start })
      // In the background. If it fails, the next look-up records the use.
      if (!check.isUseRecorded) this.#recordUse(check.id).catch(() => {})
    }

    return check
  }
}
