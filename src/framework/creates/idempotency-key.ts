import { hash } from 'node:crypto'
import { stringify } from 'safe-stable-stringify'
import type { ApiKeyCheck } from '../keys/key.ts'
import type { BodyColumn } from '../openapi/json.ts'

/**
 * The header of an operation that has the parameter Idempotency-Key in the
 * OpenAPI document. The compiler names this type in its error for an operation
 * that lacks the parameter.
 */
interface DocumentedIdempotencyKey {
  'idempotency-key'?: string | undefined
}

/** A valid request to an operation that creates a row. */
export interface CreateRequest<Body, Params> {
  method: string
  routeOptions: { url?: string | undefined }
  params: Params
  headers: DocumentedIdempotencyKey
  apiKeyCheck: ApiKeyCheck | undefined
  body: Body
}

/**
 * Returns two SHA-256 hashes for PostgreSQL, or nothing if the request has no
 * Idempotency-Key:
 *
 * - of the Idempotency-Key, its owner and the operation. The owner is the API
 *   key, including all keys that it was rotated to. To another operation, or
 *   another major version, the same Idempotency-Key is a different one.
 * - of the validated body, in which int64s are exact, without defaults, which a
 *   later version may add, and of the other values of the row.
 *
 * @throws Error without an API key: all such callers would share their keys
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07
 */
export function idempotencyHashesOf<Body extends object>(
  request: CreateRequest<Body, unknown>,
  bodyColumns: BodyColumn<Body>[],
  otherValues: unknown[]
): [] | [keyHash: string, bodyHash: string] {
  const { headers, apiKeyCheck, body, method, routeOptions } = request
  const header = headers['idempotency-key']
  if (header === undefined) return []
  const operation = `${method} ${routeOptions.url}`

  const owner = apiKeyCheck?.firstId
  if (owner == null)
    throw new Error(`the Idempotency-Key of ${operation} needs an API key`)

  const withoutDefaults = bodyColumns
    .filter(
      ({ property, default: value }) =>
        stringify(body[property]) !== stringify(value)
    )
    .map(({ property }) => [property, body[property]])

  return [
    sha256Bytea(`${owner} ${operation} ${unquoted(header)}`),
    // Properties are sorted by name.
    sha256Bytea(
      stringify([Object.fromEntries(withoutDefaults), ...otherValues])
    )
  ]
}

/**
 * The text of a string of RFC 9651, section 3.3.3, or the bare text, which many
 * clients send. A repeated header was rejected by the pattern of openapi.yaml,
 * because Node.js joins the values with a comma and a space.
 */
function unquoted(header: string): string {
  if (!header.startsWith('"')) return header
  return header.slice(1, -1).replace(/\\(.)/g, '$1')
}

/**
 * Returns the hash as the text of a bytea of PostgreSQL. Making a Buffer first
 * would take longer.
 */
function sha256Bytea(text: string): string {
  return `\\x${hash('sha256', text, 'hex')}`
}
