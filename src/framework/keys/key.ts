import { hash, randomBytes } from 'node:crypto'

const randomBytesInKey = 20
const checksumLength = 8
/** Random digits of an API key that people may see. */
const shownDigits = 8
const hiddenDigits = randomBytesInKey * 2 + checksumLength - shownDigits

/**
 * Returns a new API key, with 160 random bits.
 *
 * The checksum exposes mistyped keys without a look-up. The prefix lets
 * scanners find leaked keys.
 */
export const makeKey = (prefix: string): string =>
  withChecksum(prefix, randomBytes(randomBytesInKey).toString('hex'))

/** Whether the text has the format of an API key, including its checksum. */
export function isWellFormedKey(prefix: string, text: string): boolean {
  const random = text.slice(prefix.length, -checksumLength)
  return /^[0-9a-f]{40}$/.test(random) && text === withChecksum(prefix, random)
}

const withChecksum = (prefix: string, random: string): string =>
  prefix + random + hash('sha256', random).slice(0, checksumLength)

/**
 * The part of an API key by which people recognize it, such as
 * `petcat_01234567`. It is stored, shown and logged.
 */
export const shownPartOf = (apiKey: string): string =>
  apiKey.slice(0, -hiddenDigits)

/**
 * The pattern of an API key in a text, for a match in any case. Its first group
 * is the shown part. The log uses it, and deploy/haproxy.cfg repeats it.
 */
export const apiKeyPattern = (prefix: string): string =>
  `(${prefix}[0-9a-f]{${shownDigits}})[0-9a-f]+`

/**
 * SHA-256 of an API key in hexadecimal: the only stored form of the whole key.
 * 160 random bits need neither salt nor stretching.
 */
export const hashKey = (apiKey: string): string => hash('sha256', apiKey)

/** An API key in the store. */
interface StoredKey {
  state: 'valid' | 'revoked' | 'expired'
  id: bigint
  /** The id of the first key of its series of rotations. */
  firstId: bigint
  /** Whether the store has recorded a use of the key in this minute. */
  isUseRecorded: boolean
  /** Null if the key may do everything, even in later versions. */
  scopes: string[] | null
}

interface UnstoredKey {
  /**
   * - `unknown`: well-formed, but not in the store.
   * - `malformed`: not in the format of an API key, so not looked up.
   * - `absent`: the request has no bearer token.
   */
  state: 'unknown' | 'malformed' | 'absent'
  id?: null
  firstId?: null
  scopes?: null
}

/** What the check of a request's API key found. */
export type ApiKeyCheck = StoredKey | UnstoredKey

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireApiKey`, unless the key could not be looked up. */
    apiKeyCheck: ApiKeyCheck | undefined
  }
}
