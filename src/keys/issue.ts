import { hashKey, makeKey, prefixOf } from './key.ts'
import type { KeyStore } from './store.ts'

/** A new key, in no other place than the answer, and what is stored of it. */
function newKey() {
  const key = makeKey()
  return { key, stored: { prefix: prefixOf(key), hash: hashKey(key) } }
}

export interface CreateKeyOptions {
  name: string
  /** Seconds until it expires; never, when undefined. */
  lifetime?: number | undefined
  /** What is written down as having made it. */
  command: string
}

/** Makes a key and stores its hash. */
export async function createKey(store: KeyStore, { name, lifetime, command }: CreateKeyOptions): Promise<string> {
  const { key, stored } = newKey()
  await store.create({ ...stored, name, lifetime }, command)
  return key
}

/** Makes a key when there has never been one. */
export async function createFirstKey(store: KeyStore): Promise<string | undefined> {
  const keys = await store.list()
  return keys.length === 0 ? createKey(store, { name: 'first', command: 'start' }) : undefined
}

export interface RotateKeyOptions {
  id: bigint
  /** Seconds that the new key lives; as long as the old one was made to, when undefined. */
  lifetime?: number | undefined
  /** Seconds that the old key lives on. */
  overlap: number
  command: string
}

/** Makes a successor of a valid key; undefined when there is no such key. */
export async function rotateKey(
  store: KeyStore,
  { id, lifetime, overlap, command }: RotateKeyOptions
): Promise<string | undefined> {
  const { key, stored } = newKey()
  return (await store.rotate(id, { ...stored, lifetime }, overlap, command)) ? key : undefined
}
