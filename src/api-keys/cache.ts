import { batch } from '../batch.ts'
import { hashKey, isWellFormedKey, type KeyCheck } from './key.ts'
import type { KeyStore } from './store.ts'

/** Milliseconds that a valid key is trusted, counted from before its look-up. A revoked key works no longer than that. */
const maxAge = 900
/** Milliseconds between two look-ups of the keys in use. */
const refreshInterval = 400

/**
 * Checks API keys and remembers the valid ones, so that requests with a key in steady use wait for no query. Keys are looked
 * up by their SHA-256, which clients cannot choose, so timing reveals nothing about other keys. Invalid keys use no memory.
 */
export function keyVerifier(store: Pick<KeyStore, 'find' | 'noteUse'>) {
  const remembered = new Map<string, { key: KeyCheck; askedAt: number }>()
  /** Hashes of the keys that were used since the last refresh. */
  const used = new Set<string>()
  let refreshedAt = 0
  const noteUse = batch(store.noteUse, { maxWaiting: 1000 })

  const lookUp = batch(async (hashes: string[]) => {
    const askedAt = performance.now()
    const found = await store.find(hashes)
    hashes.forEach((hash, index) => {
      const key = found[index]
      if (key?.state !== 'valid') return void remembered.delete(hash)
      remembered.set(hash, { key, askedAt })
      // In the background. If this fails, the next look-up repeats it.
      if (!key.isNoted) noteUse(key).catch(() => {})
    })
    return found
  })

  /**
   * Checks a key, with a query unless it is trusted.
   *
   * @param mayLookUp whether to look up a key that is not remembered as valid
   * @throws Unavailable or Overloaded when the look-up is not possible now
   */
  return (
    key: string,
    mayLookUp = () => true
  ): KeyCheck | Promise<KeyCheck> => {
    const hash = hashKey(key)
    const known = remembered.get(hash)
    const now = performance.now()
    if (known !== undefined && now - known.askedAt < maxAge) {
      used.add(hash)
      if (now - refreshedAt >= refreshInterval) {
        refreshedAt = now
        // If this fails, the keys age until a request has to look them up and fails.
        for (const hash of used) lookUp(hash).catch(() => {})
        used.clear()
      }
      return known.key
    }
    if (!isWellFormedKey(key)) return { id: null, state: 'malformed' }
    if (known === undefined && !mayLookUp())
      return { id: null, state: 'unknown' }
    return lookUp(hash)
  }
}
