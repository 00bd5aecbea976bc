import { randomBytes } from 'node:crypto'

/** What every API key begins with, so that scanners find leaked ones. */
const prefix = 'petcat_'

const pattern = /^petcat_[0-9a-f]{40}$/

/** Returns a new API key, with 160 random bits. */
export const randomApiKey = (): string =>
  prefix + randomBytes(20).toString('hex')

/** Whether the text has the format of an API key. */
export const isWellFormedApiKey = (text: string): boolean => pattern.test(text)

/**
 * The part of an API key by which people recognize it, such as
 * `petcat_01234567`.
 */
export const displayPrefixOf = (apiKey: string): string =>
  apiKey.slice(0, prefix.length + 8)

/** A valid API key. */
export interface ApiKey {
  id: number
  /** The client, which owns the Idempotency-Keys of all its API keys. */
  name: string
  /** Null if the API key may do everything, even in later versions. */
  scopes: string[] | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `makeAuthorizationHook`, if the request has a valid one. */
    apiKey: ApiKey | undefined
  }
}
