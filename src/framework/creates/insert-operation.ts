import { badRequest, HttpError } from '../http/errors.ts'
import {
  countIdempotentCreate,
  initializeIdempotentCreates
} from '../metrics.ts'
import type { Sent } from '../openapi/handler.ts'
import { objectBytes } from '../openapi/json.ts'
import { type JsonReply, sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { Unavailable } from '../postgres/failures.ts'
import { GroupedInsert } from './grouped-insert.ts'
import { claimOf, clientOf, type KeyedRequest } from './idempotency-key.ts'
import { type InsertDefinition, messageOfInvalid, nameOf } from './insert.ts'

/** An operation that creates a row from the body of its request. */
interface InsertOperation<Body, Status, Schema> extends InsertDefinition<
  Body,
  Schema
> {
  /** The status of the response. */
  status: Status
}

/**
 * The handler of an operation that creates a row from the body of its request,
 * once for each Idempotency-Key.
 *
 * @returns a handler that rejects like `Database.write`, with Overloaded if too
 *   many requests wait, and with HttpError 400, 409 and 422
 */
export function insertOperation<Body extends object, Status, Schema>(
  database: Database,
  operation: InsertOperation<Body, Status, Schema>
) {
  const { table, status, json } = operation
  const name = nameOf(operation)
  const inserts = new GroupedInsert(database, operation)
  initializeIdempotentCreates(table)

  return async (
    request: KeyedRequest<Body>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const { body } = request
    const claim = claimOf(request, name)
    const result = await inserts.insert(body, claim, clientOf(request))
    if (claim !== undefined) countIdempotentCreate(table, result.outcome)

    switch (result.outcome) {
      case 'invalid':
        throw badRequest(messageOfInvalid(operation, body))
      case 'reused':
        throw idempotencyKeyReused()
      case 'held':
        throw idempotencyKeyInUse()
      case 'locked':
        throw new Unavailable(new Error('a referenced row is locked'))
      case 'replayed':
        reply.header('idempotent-replayed', 'true')
        break
      case 'created':
        break // The response follows.
    }

    return sendJson(reply, status, objectBytes(json, result.response))
  }
}

function idempotencyKeyReused(): HttpError {
  return new HttpError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key was used with another body: send a new key'
  )
}

function idempotencyKeyInUse(): HttpError {
  return new HttpError(
    409,
    'idempotency_key_in_use',
    'Another request with this Idempotency-Key is in progress: ' +
      'retry with the same key',
    { 'retry-after': '1' }
  )
}
