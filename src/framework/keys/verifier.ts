import { LRUCache } from 'lru-cache'
import { batch } from '../batch.ts'
import {
  type ApiKeyCheck,
  hashKey,
  isWellFormedKey,
  type ValidKey
} from './key.ts'
import type { ApiKeyStore } from './store.ts'

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up. A revoked key works no longer than that.
 */
const trustMs = 900

/** Keys that are trusted at the same time. The least recently used ones go. */
const maxTrusted = 10_000

/** Uses that may wait to be recorded. */
const maxWaitingUses = 1000

/**
 * Checks API keys. A valid key is trusted for a moment; any other well-formed
 * one is looked up. Requests share look-ups, and one runs at a time, so an
 * invented key costs a share of a statement. It takes no memory.
 *
 * Trusted keys are found by their SHA-256, which clients cannot choose, so the
 * time of a check reveals nothing about other keys.
 */
export class ApiKeyVerifier {
  readonly #store: Pick<ApiKeyStore, 'find' | 'recordUse'>
  readonly #apiKeyPrefix: string
  readonly #trusted = new LRUCache<string, ValidKey>({
    max: maxTrusted,
    ttl: trustMs,
    // The time is read at each check.
    ttlResolution: 0
  })

  readonly #lookUp = batch((hashes: string[]) => this.#find(hashes))
  readonly #recordUse = batch((ids: bigint[]) => this.#recordUses(ids), {
    maxQueued: maxWaitingUses
  })

  /** @param apiKeyPrefix of well-formed keys */
  constructor(
    store: Pick<ApiKeyStore, 'find' | 'recordUse'>,
    apiKeyPrefix: string
  ) {
    this.#store = store
    this.#apiKeyPrefix = apiKeyPrefix
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
    for (const [index, hash] of hashes.entries())
      this.#trust(hash, checks[index], start)

    return checks
  }

  #trust(hash: string, check: ApiKeyCheck | undefined, start: number): void {
    if (check?.state !== 'valid') {
      this.#trusted.delete(hash)
      return
    }
    this.#trusted.set(hash, check, { start })
    // In the background. If this fails, the next look-up repeats it.
    if (!check.isUseRecorded) this.#recordUse(check.id).catch(() => {})
  }

  async #recordUses(ids: bigint[]): Promise<bigint[]> {
    await this.#store.recordUse(ids)
    return ids
  }
}
