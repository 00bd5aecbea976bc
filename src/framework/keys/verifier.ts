import { LRUCache } from 'lru-cache'
import { batch } from '../batch.ts'
import { type ApiKeyCheck, hashKey, isWellFormedKey } from './key.ts'
import type { ApiKeyStore } from './store.ts'

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
  readonly #store: ApiKeyStore
  readonly #apiKeyPrefix: string
  #isRecording = false
  readonly #trusted = new LRUCache<string, ApiKeyCheck>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  readonly #lookUp: (hash: string) => Promise<ApiKeyCheck>

  /**
   * @param apiKeyPrefix what well-formed keys begin with
   * @param maxWaitMs milliseconds that a look-up may wait for the one before it
   */
  constructor(store: ApiKeyStore, apiKeyPrefix: string, maxWaitMs: number) {
    this.#store = store
    this.#apiKeyPrefix = apiKeyPrefix
    this.#lookUp = batch((hashes) => this.#find(hashes), { maxWaitMs })
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

  async #find(hashes: string[]): Promise<ApiKeyCheck[]> {
    const start = performance.now()
    const checks = await this.#store.find(hashes)

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
    this.#store
      .recordUse(ids)
      .catch(() => {})
      .finally(() => {
        this.#isRecording = false
      })
  }
}
