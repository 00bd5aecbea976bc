import { hash, randomBytes } from 'node:crypto'

const checksum = (random: string) => hashKey(random).slice(0, 8)

/**
 * Returns a new key: `petcat_`, 40 random hexadecimal digits (160 bits) and 8 digits of a checksum over them. The checksum
 * exposes mistyped and invented keys without a query, and the prefix lets scanners find leaked ones.
 */
export function makeKey(): string {
  const random = randomBytes(20).toString('hex')
  return `petcat_${random}${checksum(random)}`
}

/** The part of a key that is stored and shown so that people recognize it: `petcat_` and 8 of its 40 random digits. */
export const prefixOf = (key: string): string => key.slice(0, 15)

/** Whether the text has the format of a key, including its checksum. */
export const isWellFormedKey = (text: string): boolean =>
  /^petcat_[0-9a-f]{48}$/.test(text) &&
  text.endsWith(checksum(text.slice(7, 47)))

/** SHA-256 of a key in hexadecimal, the only stored form. 160 random bits need neither salt nor stretching. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex')

/**
 * The result of a check. `id` is null for an unknown key; `root` is the first key of its series of rotations; `isNoted` is true
 * if the use in this minute is recorded.
 */
export interface KeyCheck {
  id: bigint | null
  root?: bigint | null
  state: 'valid' | 'revoked' | 'expired' | 'unknown' | 'malformed' | 'absent'
  isNoted?: boolean | null
}
