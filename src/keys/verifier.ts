import { batch } from '../database/batch.ts'
import { hashKey, isWellFormedKey } from './key.ts'
import type { KeyStore } from './store.ts'

/**
 * Gives the id of a valid API key, or undefined for any other text.
 *
 * @throws Unavailable when the key is not remembered and the database cannot be asked: access is not given on a guess
 */
export type KeyVerifier = (key: string) => Promise<bigint | undefined> | bigint | undefined

/** Milliseconds for which a key is trusted after a query that found it valid was sent: the bound on a revoked key's life. */
const maxAge = 900
/** Milliseconds after which the next use of a key has it looked up again, without waiting for the answer. */
const refreshAge = 400

/**
 * Remembers the keys that Postgres found valid, so that a key in steady use costs its requests no query. A key is looked
 * up by the SHA-256 of its text, which nobody can steer, so the time that a look-up takes tells nothing of other keys.
 * Only valid keys are remembered: unknown ones cannot fill the memory.
 *
 * @param now a clock in milliseconds that only goes forward
 */
export function keyVerifier(
  store: Pick<KeyStore, 'findValid'>,
  now: () => number = () => performance.now()
): KeyVerifier {
  const remembered = new Map<string, { id: bigint; askedAt: number; refreshing: boolean }>()

  const lookUp = batch(
    async (hashes: string[]) => {
      const askedAt = now()
      const ids = await store.findValid(hashes)
      hashes.forEach((hash, index) => {
        const id = ids[index]
        if (id === undefined) remembered.delete(hash)
        else remembered.set(hash, { id, askedAt, refreshing: false })
      })
      return ids
    },
    { maxWaiting: 10_000, maxSize: 1_000 }
  )

  return (key) => {
    const hash = hashKey(key)
    const known = remembered.get(hash)
    if (known === undefined) return isWellFormedKey(key) ? lookUp(hash) : undefined
    const age = now() - known.askedAt
    if (age >= maxAge) return lookUp(hash)
    if (age >= refreshAge && !known.refreshing) {
      known.refreshing = true
      // When the database cannot be asked, the key ages until a request has to ask and fails closed.
      lookUp(hash).catch(() => (known.refreshing = false))
    }
    return known.id
  }
}
