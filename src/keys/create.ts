import { hashKey, makeKey } from './key.ts'
import type { KeyStore } from './store.ts'

/** Makes a key and stores its hash. The key is in no other place than the answer. */
export async function createKey(store: KeyStore, name: string): Promise<string> {
  const key = makeKey()
  await store.create(name, hashKey(key))
  return key
}

/** Makes a key when there has never been one. */
export async function createFirstKey(store: KeyStore): Promise<string | undefined> {
  const keys = await store.list()
  return keys.length === 0 ? createKey(store, 'first') : undefined
}
