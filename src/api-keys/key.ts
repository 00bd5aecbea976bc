import { hash, randomBytes } from 'node:crypto'

/**
 * An API key is `petcat_`, 40 hexadecimal digits of randomness (160 bits) and 8 of a checksum over them, so that a
 * mistyped or invented key is known without a query and scanners can find leaked ones by pattern.
 */
const pattern = /^petcat_([0-9a-f]{40})([0-9a-f]{8})$/

const checksum = (random: string) => hashKey(random).slice(0, 8)

/** A new key, to be shown once and kept nowhere. */
export function makeKey(): string {
  const random = randomBytes(20).toString('hex')
  return `petcat_${random}${checksum(random)}`
}

/** The part of a key that is kept and shown, by which its owner knows it: `petcat_` and 8 of its 40 random digits. */
export const prefixOf = (key: string): string => key.slice(0, 15)

/** Whether the text has the form of a key, its checksum included. */
export function isWellFormedKey(text: string): boolean {
  const [, random, sum] = pattern.exec(text) ?? []
  return random !== undefined && checksum(random) === sum
}

/** SHA-256 of the key, in hexadecimal: all that is stored. A key's 160 random bits make salting and stretching needless. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}
