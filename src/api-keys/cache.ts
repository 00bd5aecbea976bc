import { batch } from '../batch.ts'
import { hashKey, isWellFormedKey, type KeyCheck } from './key.ts'
import type { KeyStore } from './store.ts'

/** Milliseconds that a valid key is trusted, counted from before its look-up. A revoked key works no longer than that. */
const maxAge = 900
/** Milliseconds after which a key in use is looked up again, while it is still trusted. */
const refreshAge = 400

/**
 * Checks API keys and remembers the valid ones, so that requests with a key in steady use wait for no query. Keys are looked
 * up by their SHA-256, which clients cannot choose, so timing reveals nothing about other keys. Invalid keys use no memory.
 */
export function keyVerifier(store: Pick<KeyStore, 'find' | 'noteUse'>) {
  const remembered = new Map<string, { key: KeyCheck; askedAt: number; isRefreshing: boolean }>()

  const noteUse = batch(store.noteUse, { maxWaiting: 1_000 })
  const lookUp = batch(
    async (hashes: string[]) => {
      const askedAt = performance.now()
      const found = await store.find(hashes)
      hashes.forEach((hash, index) => {
        const key = found[index]
        if (key?.state !== 'valid') return remembered.delete(hash)
        remembered.set(hash, { key, askedAt, isRefreshing: false })
        if (!key.isNoted) noteUse(key).catch(() => {})
      })
      return found
    },
    { maxWaiting: 10_000, maxSize: 1_000 }
  )

  /**
   * Checks a key, with a query unless it is trusted.
   *
   * @param mayLookUp whether to look up a key that is not remembered as valid
   * @throws Unavailable or Overloaded when the look-up is not possible now
   */
  return (key: string, mayLookUp = () => true): KeyCheck | Promise<KeyCheck> => {
    const hash = hashKey(key)
    const known = remembered.get(hash)
    const age = performance.now() - (known?.askedAt ?? 0)
    if (known !== undefined && age < maxAge) {
      if (age >= refreshAge && !known.isRefreshing) {
        known.isRefreshing = true
        // If this fails, the key ages until a request has to wait for its look-up.
        lookUp(hash).catch(() => {})
      }
      return known.key
    }
    if (!isWellFormedKey(key)) return { id: null, state: 'malformed' }
    if (known === undefined && !mayLookUp()) return { id: null, state: 'unknown' }
    return lookUp(hash)
  }
}
