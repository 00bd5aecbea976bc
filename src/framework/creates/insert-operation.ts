import { parse } from 'lossless-json'
import { badRequest, HttpError } from '../http/errors.ts'
import { parseNumber } from '../http/json-body.ts'
import type { Sent } from '../openapi/handler.ts'
import { objectBytes } from '../openapi/json.ts'
import { type JsonReply, sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { OutcomeUnknown, Unavailable } from '../postgres/failures.ts'
import { groupedInsert } from './grouped-insert.ts'
import { claimOf, type KeyedRequest } from './idempotency-key.ts'
import { type InsertDefinition, insertStatement } from './insert.ts'

/** An operation that creates a row from the body of its request. */
interface InsertOperation<Body, Status, Schema> extends InsertDefinition<
  Body,
  Schema
> {
  /** The status of the response. */
  status: Status
  /**
   * The URL of the new row for the header `Location`, relative to the URL of
   * the request: a proxy may change the base path.
   *
   * @param row the response; its integers beyond 2^53 are bigints
   */
  location?: (row: Schema) => string
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
  definition: InsertOperation<Body, Status, Schema>
) {
  const { operation, status, columns, json, check, location } = definition
  const insertBy = (statement: string, areKeyed: boolean) =>
    groupedInsert(database, statement, insertStatement(definition, areKeyed))
  const insert = insertBy(operation, false)
  const insertOnce = insertBy(`${operation}-once`, true)
  const { metrics } = database
  metrics.initializeIdempotentCreates(operation)

  async function insertClaimed(row: unknown[]) {
    const result = await insertOnce(row).catch(rethrowAsRetryable)
    metrics.idempotentCreates.inc({ operation, outcome: result.outcome })
    return result
  }

  return async (
    request: KeyedRequest<Body>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const row = columns.map(({ property }) => request.body[property])
    const claim = claimOf(request, operation)
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

    const { response } = result
    if (location !== undefined)
      reply.header('location', location(parseRow(response) as Schema))

    return sendJson(reply, status, objectBytes(json, response))
  }
}

const parseRow = (json: string) => parse(json, undefined, { parseNumber })

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
