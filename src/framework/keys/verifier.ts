import { LRUCache } from 'lru-cache'
import type { Database } from '../postgres/database.ts'
import { inputTable, sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statement-runner.ts'
import { type InputRow, sharedReader } from '../reads/shared-reader.ts'
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
 * Skips a key that another session has locked. Waits neither for the disk nor
 * for a standby, and so does not delay a revocation by its own lock.
 */
const recordUseSql = sql`
  UPDATE api_keys
  SET last_used_at = now()
  WHERE id IN (
    SELECT id
    FROM api_keys
    WHERE id = $1
    FOR NO KEY UPDATE SKIP LOCKED
  )
    AND set_config('synchronous_commit', 'off', true) IS NOT NULL
`

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up. A revoked key works no longer than that.
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
  readonly #database: Database
  readonly #apiKeyPrefix: string
  readonly #recordUseStatement: NamedStatement
  #isRecording = false
  readonly #trusted = new LRUCache<string, ApiKeyCheck>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  readonly #read: (inputRow: InputRow<'hash'>) => Promise<ApiKeyCheck>

  /** @param apiKeyPrefix what well-formed keys begin with */
  constructor(database: Database, apiKeyPrefix: string) {
    this.#database = database
    this.#apiKeyPrefix = apiKeyPrefix
    this.#read = sharedReader(database, {
      statementName: 'look-up-api-keys',
      inputTypes,
      text: lookUpSql,
      maxInputRows: maxLookedUp,
      use: 'check'
    })
    this.#recordUseStatement = database.prepare(
      'record-use-of-api-keys',
      recordUseSql
    )
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
      if (!check.isUseRecorded) this.#recordUse(check.id)
    }

    return check
  }

  /**
   * Records the use of a key in the background. If that fails, or if an earlier
   * record is still being written, the next look-up of the key records its use.
   */
  #recordUse(id: bigint): void {
    if (this.#isRecording) return
    this.#isRecording = true
    this.#database
      .runInBackground({ ...this.#recordUseStatement, values: [id] })
      .catch(() => {})
      .finally(() => {
        this.#isRecording = false
      })
  }
}
