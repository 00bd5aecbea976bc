import { LRUCache } from 'lru-cache'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { inputParameters, inputTable, sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statement-runner.ts'
import { type ApiKeyCheck, hashKey, isWellFormedKey } from './key.ts'
import { keyStateSql } from './store.ts'

const lookUpSql = sql`
  SELECT
    id,
    coalesce(first_id, id) AS "firstId",
    ${keyStateSql} AS state,
    scopes,
    coalesce(
    last_used_at >= date_trunc('minute', now()),
    false
  ) AS "isUseRecorded"
  FROM ${inputTable({ hash: 'text' })}
  LEFT JOIN LATERAL (
    SELECT *
    FROM api_keys
    WHERE api_keys.hash = decode(input.hash, 'hex')
    LIMIT 1
  ) AS api_keys ON true
  ORDER BY ordinal
`

/** Skips keys that another session has locked. */
const recordUseSql = sql`
  UPDATE api_keys
  SET last_used_at = now()
  WHERE id IN (
    SELECT id
    FROM api_keys
    WHERE id = ANY ($1)
    FOR NO KEY UPDATE SKIP LOCKED
  )
`

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up. A revoked key works no longer than that.
 */
const trustMs = 900

/**
 * Keys that are trusted at the same time. The least recently used ones are
 * forgotten.
 */
const maxTrusted = 10_000

/**
 * Checks API keys. A valid key is trusted for a moment; any other well-formed
 * one is looked up. Requests share look-ups, and one runs at a time, so an
 * invented key costs a share of a statement. It is not remembered.
 *
 * Trusted keys are found by their SHA-256, which clients cannot choose, so the
 * time of a check reveals nothing about other keys.
 */
export class ApiKeyVerifier {
  readonly #database: Database
  readonly #apiKeyPrefix: string
  readonly #lookUpStatement: NamedStatement
  readonly #recordUseStatement: NamedStatement
  #isRecording = false
  readonly #trusted = new LRUCache<string, ApiKeyCheck>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  readonly #lookUp: (hash: string) => Promise<ApiKeyCheck>

  /** @param apiKeyPrefix what well-formed keys begin with */
  constructor(database: Database, apiKeyPrefix: string) {
    this.#database = database
    this.#apiKeyPrefix = apiKeyPrefix
    this.#lookUpStatement = database.prepare('look-up-api-keys', lookUpSql)
    this.#recordUseStatement = database.prepare(
      'record-use-of-api-keys',
      recordUseSql
    )
    this.#lookUp = batch((hashes) => this.#lookUpAll(hashes), {
      maxWaitMs: database.timeoutMs
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

  async #lookUpAll(hashes: string[]): Promise<ApiKeyCheck[]> {
    const start = performance.now()
    const checks = await this.#database.read<ApiKeyCheck>({
      ...this.#lookUpStatement,
      values: inputParameters(hashes.map((hash) => [hash]))
    })

    const unrecorded: bigint[] = []
    for (const [index, check] of checks.entries()) {
      if (check.state !== 'valid') continue
      this.#trusted.set(String(hashes[index]), check, { start })
      if (!check.isUseRecorded) unrecorded.push(check.id)
    }
    this.#recordUse(unrecorded)

    return checks
  }

  /**
   * Records the use of keys in the background. If that fails, or if an earlier
   * record is still being written, the next look-up of the key records its use.
   */
  #recordUse(ids: bigint[]): void {
    if (ids.length === 0 || this.#isRecording) return
    this.#isRecording = true
    this.#database
      .runInBackground({ ...this.#recordUseStatement, values: [ids] })
      .catch(() => {})
      .finally(() => {
        this.#isRecording = false
      })
  }
}
