import { batch } from '../batch.ts'
import {
  hashKey,
  isWellFormedKey,
  type ApiKeyCheck,
  type ValidKey
} from './key.ts'
import type { ApiKeyStore } from './store.ts'

/**
 * Milliseconds for which a valid key is trusted, counted from before its
 * look-up. A revoked key works no longer than that.
 */
const trustMs = 900

/**
 * Milliseconds for which a valid key is kept after its last look-up. A kept key
 * is never looked up in the queue of floods, so a key in occasional use is kept
 * for longer than it is trusted.
 */
const keepMs = 3_600_000

/** Milliseconds between two look-ups of the keys in use. */
const refreshIntervalMs = 400

/** Uses that may wait to be recorded. */
const maxWaitingUses = 1000

/** Keys in one look-up for clients that flood the service with invalid keys. */
const maxFloodKeys = 100

interface KeptKey {
  validKey: ValidKey
  /** Milliseconds, before the look-up was sent. */
  lookedUpAt: number
}

/** The state of a key, which ApiKeyVerifier explains. */
type KeyInMemory =
  { state: 'unseen' | 'stale' } | { state: 'trusted'; validKey: ValidKey }

/**
 * Checks API keys, and keeps the valid ones, so that requests with a key in
 * steady use wait for no query. To this class, a key is always in one of these
 * states:
 *
 * - `unseen`: not kept. A request waits for a look-up, unless the key is
 *   malformed.
 * - `trusted`: valid at a look-up less than `trustMs` ago. A request passes
 *   immediately. While requests use the key, it is looked up in the background.
 * - `stale`: valid at a look-up before that. A request waits for a look-up.
 *
 * A key is `unseen` again after a look-up that finds it no longer valid, or
 * when it was not looked up for `keepMs`.
 *
 * Kept keys are found by their SHA-256, which clients cannot choose, so the
 * time of a check reveals nothing about other keys. Invalid keys use no memory.
 *
 * Anyone can invent keys with a valid checksum, so the cost of looking them up
 * is bounded: requests share look-ups, and one runs at a time. Clients that
 * flood the service with invalid keys have a queue of their own. They cannot
 * delay the look-ups of other clients, and their look-ups are small.
 */
export class ApiKeyVerifier {
  readonly #store: Pick<ApiKeyStore, 'find' | 'recordUse'>
  readonly #apiKeyPrefix: string
  readonly #kept = new Map<string, KeptKey>()
  /** Hashes of the keys that were used since the last refresh. */
  readonly #used = new Set<string>()
  #refreshedAt = 0

  readonly #lookUp = batch((hashes: string[]) => this.#find(hashes))
  readonly #lookUpOfFlood = batch((hashes: string[]) => this.#find(hashes), {
    maxSize: maxFloodKeys
  })
  readonly #recordUse = batch((ids: bigint[]) => this.#recordUses(ids), {
    maxQueued: maxWaitingUses
  })

  constructor(
    store: Pick<ApiKeyStore, 'find' | 'recordUse'>,
    apiKeyPrefix: string
  ) {
    this.#store = store
    this.#apiKeyPrefix = apiKeyPrefix
  }

  /**
   * Checks the API key of a request, with a query unless it is trusted or
   * malformed.
   *
   * @param isFlooding whether the client floods the service with invalid keys;
   *   called for unseen keys only
   * @throws Unavailable or Overloaded when the key cannot be looked up now
   */
  check(
    token: string,
    isFlooding = () => false
  ): ApiKeyCheck | Promise<ApiKeyCheck> {
    const hash = hashKey(token)
    const now = performance.now()
    const inMemory = this.#lookInMemory(hash, now)
    switch (inMemory.state) {
      case 'unseen':
        return this.#checkUnseen(token, hash, isFlooding)
      case 'stale':
        return this.#lookUp(hash)
      case 'trusted':
        this.#markUsed(hash, now)
        return inMemory.validKey
    }
  }

  #lookInMemory(hash: string, now: number): KeyInMemory {
    const kept = this.#kept.get(hash)
    if (kept === undefined) return { state: 'unseen' }

    const { validKey, lookedUpAt } = kept
    const isTrusted = now - lookedUpAt < trustMs

    return isTrusted ? { state: 'trusted', validKey } : { state: 'stale' }
  }

  #checkUnseen(
    token: string,
    hash: string,
    isFlooding: () => boolean
  ): ApiKeyCheck | Promise<ApiKeyCheck> {
    if (!isWellFormedKey(this.#apiKeyPrefix, token))
      return { state: 'malformed' }
    return isFlooding() ? this.#lookUpOfFlood(hash) : this.#lookUp(hash)
  }

  #markUsed(hash: string, now: number): void {
    this.#used.add(hash)
    if (now - this.#refreshedAt >= refreshIntervalMs) this.#refresh(now)
  }

  /** Forgets unused keys and looks up the keys in use, in the background. */
  #refresh(now: number): void {
    this.#refreshedAt = now
    this.#forgetUnused(now)
    for (const hash of this.#used) {
      // If this fails, the key becomes stale, and requests see the failure.
      this.#lookUp(hash).catch(() => {})
    }
    this.#used.clear()
  }

  #forgetUnused(now: number): void {
    for (const [hash, { lookedUpAt }] of this.#kept)
      if (now - lookedUpAt >= keepMs) this.#kept.delete(hash)
  }

  async #find(hashes: string[]): Promise<ApiKeyCheck[]> {
    const lookedUpAt = performance.now()
    const checks = await this.#store.find(hashes)
    for (const [index, hash] of hashes.entries())
      this.#keep(hash, checks[index], lookedUpAt)

    return checks
  }

  #keep(
    hash: string,
    apiKeyCheck: ApiKeyCheck | undefined,
    lookedUpAt: number
  ): void {
    if (apiKeyCheck?.state !== 'valid') {
      this.#kept.delete(hash)
      return
    }
    this.#kept.set(hash, { validKey: apiKeyCheck, lookedUpAt })
    // In the background. If this fails, the next look-up repeats it.
    if (!apiKeyCheck.isUseRecorded)
      this.#recordUse(apiKeyCheck.id).catch(() => {})
  }

  async #recordUses(ids: bigint[]): Promise<bigint[]> {
    await this.#store.recordUse(ids)
    return ids
  }
}
