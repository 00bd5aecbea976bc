import { badRequest, HttpError } from '../http/errors.ts'
import type { Sent } from '../openapi/handler.ts'
import { objectBytes } from '../openapi/json.ts'
import { type JsonReply, sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { OutcomeUnknown, Unavailable } from '../postgres/failures.ts'
import { groupedInsert } from './grouped-insert.ts'
import { claimOf, type KeyedRequest } from './idempotency-key.ts'
import {
  type InsertDefinition,
  inputValues,
  insertOnceStatement,
  insertStatement
} from './insert.ts'

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
  const { table, name = table, status, json, check } = operation
  const insertBy = (statement: string, text: string) =>
    groupedInsert(database, statement, text)
  const insert = insertBy(`create-${name}`, insertStatement(operation))
  const insertOnce = insertBy(
    `create-${name}-once`,
    insertOnceStatement(operation)
  )
  const { metrics } = database
  metrics.initializeIdempotentCreates(table)

  async function insertClaimed(row: unknown[]) {
    const result = await insertOnce(row).catch(rethrowAsRetryable)
    metrics.idempotentCreates.inc({ table, outcome: result.outcome })
    return result
  }

  return async (
    request: KeyedRequest<Body>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const row = inputValues(operation, request.body)
    const claim = claimOf(request, name)
    const result =
      claim === undefined
        ? await insert(row)
        : await insertClaimed([...row, ...claim])

    switch (result.outcome) {
      case 'invalid':
        throw badRequest(String(check?.message(request.body)))
      case 'reused':
        throw idempotencyKeyReused()
      case 'held':
        throw idempotencyKeyInUse()
      case 'locked':
        throw new Unavailable(new Error('another transaction holds a lock'))
      case 'replayed':
        reply.header('idempotent-replayed', 'true')
        break
      case 'created':
        break // The response follows.
    }

    return sendJson(reply, status, objectBytes(json, result.response))
  }
}

/** The Idempotency-Key makes it safe to send the request again. */
function rethrowAsRetryable(error: unknown): never {
  if (error instanceof OutcomeUnknown)
    throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
  throw error
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
