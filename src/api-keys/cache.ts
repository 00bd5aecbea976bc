import { batch } from '../batch.ts'
import { hashKey, isWellFormedKey, type KeyCheck } from './key.ts'
import type { KeyStore } from './store.ts'

/** Milliseconds for which a valid key is trusted, from before its look-up: the limit on the life of a revoked key. */
const maxAge = 900
/** Milliseconds between calls of `refresh`. */
export const refreshInterval = 400

/**
 * Checks API keys and remembers the valid ones, so that requests with a key in steady use need no query. It looks keys up
 * by their SHA-256, which nobody can steer, so timing reveals nothing about other keys. Invalid keys take no memory.
 */
export function keyVerifier(store: Pick<KeyStore, 'find' | 'noteUse'>) {
  const remembered = new Map<string, { key: KeyCheck; askedAt: number }>()
  /** Hashes of the valid keys that were used since the last refresh. */
  const used = new Set<string>()
  let isNoting = false

  const lookUp = batch(
    async (hashes: string[]) => {
      const askedAt = performance.now()
      const found = await store.find(hashes)
      hashes.forEach((hash, index) => {
        const key = found[index]
        if (key?.state === 'valid') remembered.set(hash, { key, askedAt })
        else remembered.delete(hash)
      })
      return found
    },
    { maxWaiting: 10_000, maxSize: 1_000 }
  )

  return {
    /**
     * Checks a key, by a query unless it is trusted.
     *
     * @param mayLookUp whether to look up a key that was not valid the last time, however long ago
     * @throws Unavailable or Overloaded when the database cannot be asked
     */
    check(key: string, mayLookUp = () => true): KeyCheck | Promise<KeyCheck> {
      const hash = hashKey(key)
      const known = remembered.get(hash)
      if (known !== undefined && performance.now() - known.askedAt < maxAge) {
        used.add(hash)
        return known.key
      }
      if (!isWellFormedKey(key)) return { id: null, state: 'malformed' }
      if (known === undefined && !mayLookUp()) return { id: null, state: 'unknown' }
      return lookUp(hash).then((found) => {
        if (found.state === 'valid') used.add(hash)
        return found
      })
    },

    /** Looks up the keys used since the last call, and records once a minute that they were used. Calls may overlap. */
    async refresh(): Promise<void> {
      const hashes = [...used]
      used.clear()
      try {
        const found = await Promise.all(hashes.map((hash) => lookUp(hash)))
        const due = found.filter(({ state, isNoted }) => state === 'valid' && !isNoted)
        if (isNoting || due.length === 0) return
        isNoting = true
        await store.noteUse(due).finally(() => (isNoting = false))
      } catch {
        // The database logs its failures. Meanwhile keys age until a request has to look them up and fails.
      }
    }
  }
}
