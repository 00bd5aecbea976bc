import { hash, randomBytes } from 'node:crypto'
import { shownDigits } from '../api-key-pattern.ts'

const randomBytesInKey = 20
const checksumLength = 8
const digitsInKey = randomBytesInKey * 2 + checksumLength

/** After the prefix: 40 hexadecimal digits and a checksum over them. */
const format = /^(?<random>[0-9a-f]{40})(?<checksum>[0-9a-f]{8})$/

const checksumOf = (random: string): string =>
  hashKey(random).slice(0, checksumLength)

/**
 * Returns a new API key, with 160 random bits.
 *
 * The checksum exposes mistyped keys without a query. The prefix lets scanners
 * find leaked keys.
 */
export function makeKey(prefix: string): string {
  const random = randomBytes(randomBytesInKey).toString('hex')
  return `${prefix}${random}${checksumOf(random)}`
}

/** Whether the text has the format of an API key, including its checksum. */
export function isWellFormedKey(prefix: string, text: string): boolean {
  if (!text.startsWith(prefix)) return false
  const parts = format.exec(text.slice(prefix.length))?.groups
  if (parts === undefined) return false
  return parts['checksum'] === checksumOf(String(parts['random']))
}

/**
 * The part of an API key by which people recognize it, such as
 * `petcat_01234567`. It is stored, shown and logged.
 */
export const shownPartOf = (apiKey: string): string =>
  apiKey.slice(0, shownDigits - digitsInKey)

/**
 * SHA-256 of an API key in hexadecimal: the only stored form of the whole key.
 * 160 random bits need neither salt nor stretching.
 */
export const hashKey = (apiKey: string): string => hash('sha256', apiKey, 'hex')

/** An API key in the store. */
interface StoredKey {
  id: bigint
  /** The id of the first key of its series of rotations. */
  root: bigint
  /** Whether the store has recorded a use of the key in this minute. */
  isUseRecorded: boolean
  /** Null if the key may do everything, even in later versions. */
  scopes: string[] | null
}

export interface ValidKey extends StoredKey {
  state: 'valid'
}

export interface EndedKey extends StoredKey {
  state: 'revoked' | 'expired'
}

interface NoKey {
  /**
   * - `unknown`: well-formed, but not in the store.
   * - `malformed`: not in the format of an API key, so not looked up.
   * - `absent`: the request has no bearer token.
   */
  state: 'unknown' | 'malformed' | 'absent'
  id?: undefined
  root?: undefined
  scopes?: undefined
}

/** What the check of a request's API key found. */
export type ApiKeyCheck = ValidKey | EndedKey | NoKey
