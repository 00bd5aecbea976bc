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
  /** Seconds that the new key lives; the lifetime that the old one was created with, when undefined. */
  lifetime?: number | undefined
  /** Seconds that the old key lives on. */
  overlap: number
  command: string
}

/**
 * Replaces a valid key by a new one.
 *
 * @returns the new key
 * @throws Error when there is no such key, or it is replaced already
 */
export async function rotateKey(
  store: KeyStore,
  { id, lifetime, overlap, command }: RotateKeyOptions
): Promise<string> {
  const { key, stored } = newKey()
  if (await store.rotate(id, { ...stored, lifetime }, overlap, command)) return key
  const successor = (await store.list()).find((old) => old.id === id)?.replaced_by
  if (typeof successor !== 'bigint') throw noSuchKey(id)
  throw new Error(`Key ${id} is already replaced by key ${successor}: rotate that one; see: keys list`)
}

export const noSuchKey = (id: bigint) => new Error(`There is no valid key with the id ${id}; see: keys list`)
