import { batch } from '../batch.ts'
import { hashKey, isWellFormedKey } from './key.ts'
import type { FoundKey, KeyStore } from './store.ts'

/** What is known of a text that was sent as an API key; `id` when there is or was such a key. */
export type KeyCheck = FoundKey | { id?: undefined; state: 'malformed' | 'unknown' }

export interface KeyVerifier {
  /**
   * The key when it is remembered as valid, at once and without a query. `isFamiliar` when it was valid the last time that
   * anyone looked, however long ago.
   */
  recall(key: string): { valid: FoundKey | undefined; isFamiliar: boolean }
  /**
   * What is known of a key, by a query.
   *
   * @throws Unavailable when the database cannot be asked: access is not given on a guess. Overloaded when too many wait
   */
  check(key: string): Promise<KeyCheck>
  /**
   * Looks up again the keys that were used since the last time, and records that they were: in one query each, which no
   * request waits for. To be called every `refreshInterval`, also while an earlier call is pending.
   */
  refresh(): Promise<void>
  /** Has every key looked up again before it is trusted: one of them has changed. */
  distrust(): void
}

/** Milliseconds for which a key is trusted after a query that found it valid was sent: the bound on a revoked key's life. */
const maxAge = 900
/** Milliseconds. */
export const refreshInterval = 400
/** Milliseconds. */
const minute = 60_000

interface Remembered {
  key: FoundKey
  /** When the query was sent that found it valid. */
  askedAt: number
  isUsed: boolean
  /** When its use was written down. */
  notedAt: number
}

/**
 * Remembers the keys that Postgres found valid, so that a key in steady use costs its requests no query. A key is looked
 * up by the SHA-256 of its text, which nobody can steer, so the time that a look-up takes tells nothing of other keys.
 * Only valid keys are remembered: unknown ones cannot fill the memory.
 *
 * @param now a clock in milliseconds that only goes forward
 */
export function keyVerifier(
  store: Pick<KeyStore, 'find' | 'noteUse'>,
  now: () => number = () => performance.now()
): KeyVerifier {
  const remembered = new Map<string, Remembered>()
  let distrustedAt = -Infinity
  let isNoting = false

  const lookUp = batch(
    async (hashes: string[]) => {
      const askedAt = now()
      const found = await store.find(hashes)
      hashes.forEach((hash, index) => {
        const key = found[index]
        const known = remembered.get(hash)
        if (key?.state !== 'valid') remembered.delete(hash)
        else if (known === undefined) remembered.set(hash, { key, askedAt, isUsed: true, notedAt: -Infinity })
        else known.askedAt = askedAt
      })
      return found
    },
    { maxWaiting: 10_000, maxSize: 1_000 }
  )

  const recall: KeyVerifier['recall'] = (key) => {
    const known = remembered.get(hashKey(key))
    if (known === undefined) return { valid: undefined, isFamiliar: false }
    known.isUsed = true
    const isTrusted = known.askedAt > distrustedAt && now() - known.askedAt < maxAge
    return { valid: isTrusted ? known.key : undefined, isFamiliar: true }
  }

  return {
    recall,
    check(key) {
      if (!isWellFormedKey(key)) return Promise.resolve({ state: 'malformed' })
      return lookUp(hashKey(key)).then((found) => found ?? { state: 'unknown' })
    },
    async refresh() {
      const used = [...remembered].filter(([, { isUsed }]) => isUsed)
      for (const [, entry] of used) entry.isUsed = false
      await Promise.all(used.map(([hash]) => lookUp(hash)))
      const due = used.map(([, entry]) => entry).filter(({ notedAt }) => now() - notedAt >= minute)
      if (isNoting || due.length === 0) return
      isNoting = true
      try {
        await store.noteUse(due.map(({ key }) => key.id))
      } finally {
        isNoting = false
      }
      for (const entry of due) entry.notedAt = now()
    },
    distrust() {
      distrustedAt = now()
    }
  }
}
