import type { ApiKey } from '../api-keys/api-key.ts'
import { sha256Bytea } from '../postgres/sql.ts'

/** A valid request to an operation that creates a row. */
export interface CreateRequest<Body> {
  method: string
  routeOptions: { url?: string | undefined }
  headers: { 'idempotency-key'?: string | undefined }
  apiKey: ApiKey | undefined
  body: Body
}

/**
 * Returns two SHA-256 hashes for PostgreSQL, or undefined if the request has no
 * Idempotency-Key:
 *
 * - of the Idempotency-Key, the operation and the name of the API key, so that a
 *   new API key of the same name can replace an old one.
 * - of the validated body, in which clients may vary the order of the
 *   properties.
 *
 * @param properties of the body, in a fixed order
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07
 */
export function idempotencyHashesOf<Body>(
  { method, routeOptions, headers, apiKey, body }: CreateRequest<Body>,
  properties: (keyof Body & string)[]
): [string, string] | undefined {
  const header = headers['idempotency-key']
  if (header === undefined) return undefined

  const hashInput = [apiKey?.name, method, routeOptions.url, unquoted(header)]
  const orderedBody = properties.map((property) => [property, body[property]])
  return [
    sha256Bytea(JSON.stringify(hashInput)),
    sha256Bytea(JSON.stringify(Object.fromEntries(orderedBody)))
  ]
}

/**
 * The draft says that the value is a string in quotes (RFC 9651, section
 * 3.3.3), but many clients send it bare: `"k"` and `k` are the same.
 */
const unquoted = (header: string): string =>
  /^".*"$/.test(header) ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header
