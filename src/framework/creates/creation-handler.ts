import { hash } from 'node:crypto'
import { parse } from 'lossless-json'
import { stringify } from 'safe-stable-stringify'
import { Overloaded } from '../batch.ts'
import { HttpError, retryLater, unavailable } from '../errors.ts'
import { type JsonReply, type Sent, sendJson } from '../openapi/handler.ts'
import type { BodyColumn } from '../openapi/json.ts'
import type { Database } from '../postgres/database.ts'
import { postgresErrorIn } from '../postgres/failures.ts'
import { groupedInsert } from './grouped-insert.ts'
import {
  type CreateDefinition,
  type CreateRequest,
  idempotentParts,
  insertSql
} from './insert-statement.ts'

/**
 * How many creates of an operation may be unfinished at the same time. Each
 * holds a body of up to 64 KiB.
 */
const maxUnfinished = 2500

/**
 * The handler of an operation that creates a row from its request, once for
 * each Idempotency-Key.
 *
 * @returns a handler that rejects with the errors of `Database.run`, with
 *   Overloaded if too many requests wait, and with HttpError
 */
export function creationHandler<Body extends object, Params, Status, Schema>(
  database: Database,
  definition: CreateDefinition<Body, Params, Status, Schema>
) {
  const { operationId, status, bodyColumns, location } = definition
  const { otherColumns = [], precheck, errorsByConstraint = {} } = definition
  const insert = groupedInsert<Schema>(database, {
    plain: database.prepare(operationId, insertSql(definition)),
    idempotent: database.prepare(
      `${operationId}-idempotent`,
      insertSql(definition, idempotentParts)
    )
  })
  let unfinished = 0

  return async (
    request: CreateRequest<Body, Params>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const bodyValues = bodyColumns.map(({ property }) => request.body[property])
    const otherValues = otherColumns.map(({ value }) => value(request))
    const hashes = idempotencyHashesOf(request, bodyColumns, otherValues)
    const row = {
      values: [...bodyValues, ...otherValues, ...hashes],
      hasIdempotencyKey: hashes.length > 0
    }

    // A create counts until its row is stored or rejected, even if its client
    // has left. Otherwise, a client that resets its connections could start any
    // number of creates.
    if (unfinished >= maxUnfinished) throw new Overloaded()
    unfinished++
    const inserted = insert(row).finally(() => unfinished--)
    const result = await inserted.catch((error: unknown) => {
      const { constraint = '' } = postgresErrorIn(error)
      throw errorsByConstraint[constraint]?.(request) ?? error
    })
    const { outcome } = result

    // Only a precheck has this outcome.
    if (outcome === 'invalid') throw precheck?.invalid(request) as Error
    if (outcome === 'replayed') reply.header('idempotent-replayed', 'true')
    else if (outcome !== 'created') throw rejections[outcome]
    if (location !== undefined)
      reply.header('location', location(idIn(result.response)))
    return sendJson(reply, status, result.response)
  }
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

/** A hash as the text of a bytea of PostgreSQL: a Buffer would take longer. */
const sha256Bytea = (text: string) => `\\x${hash('sha256', text, 'hex')}`

/** The id of a row of JSON, as text: a number would round it. */
const idIn = (row: string) => String((parse(row) as { id: unknown }).id)

/** The responses to outcomes that each create can have. */
const rejections = {
  blocked: unavailable,

  reused: new HttpError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key was used with another body: send a new key'
  ),

  in_use: new HttpError(
    409,
    'idempotency_key_in_use',
    'Another request with this Idempotency-Key is in progress: ' +
      'retry with the same key',
    retryLater
  )
}
