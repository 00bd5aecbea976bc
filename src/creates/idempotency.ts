import { hash } from 'node:crypto'
import { stringify } from 'safe-stable-stringify'
import type { KeyCheck } from '../api-keys/key.ts'

/** The privileges that the statements of keyed creates need. */
export const idempotencyPrivileges = {
  idempotency_keys: 'SELECT, INSERT, DELETE'
}

export interface KeyedRequest<Body> {
  headers: { 'idempotency-key'?: string | undefined }
  apiKey: KeyCheck | undefined
  body: Body
}

/** SHA-256 as text of PostgreSQL's type bytea. A Buffer takes longer. */
const digest = (text: string) => `\\x${hash('sha256', text, 'hex')}`

/**
 * The Idempotency-Key of a valid request, in the scope of its API key and of an operation, and the fingerprint of its body;
 * undefined without one.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07
 */
export function keyOf(
  { headers, apiKey, body }: KeyedRequest<object>,
  operation: string
) {
  const { 'idempotency-key': given } = headers
  if (given === undefined) return undefined
  // A string of RFC 9651, section 3.3.3, or the bare text.
  const text = given.startsWith('"')
    ? given.slice(1, -1).replace(/\\(.)/g, '$1')
    : given
  // Equal values have equal JSON: properties are sorted by name, and a bigint is exact.
  return [
    digest(`${apiKey?.root} ${operation} ${text}`),
    digest(stringify(body))
  ]
}
