import { parse } from 'lossless-json'
import { HttpError } from '../http/errors.ts'
import { type JsonReply, type Sent, sendJson } from '../openapi/handler.ts'
import type { Database } from '../postgres/database.ts'
import {
  OutcomeUnknown,
  postgresErrorIn,
  Unavailable
} from '../postgres/failures.ts'
import { groupedInsert } from './grouped-insert.ts'
import { idempotencyHashesOf, type KeyedRequest } from './idempotency-key.ts'
import { type InsertDefinition, prepareInserts } from './insert.ts'

/**
 * The handler of an operation that creates a row from its request, once for
 * each Idempotency-Key.
 *
 * @returns a handler that rejects like `Database.write`, with Overloaded if too
 *   many requests wait, and with HttpError
 */
export function insertOperation<Body extends object, Params, Status, Schema>(
  database: Database,
  definition: InsertDefinition<Body, Params, Status, Schema>
) {
  const { operationId, status, columns, json, location } = definition
  const { fromRequest = [], obstacle, violations = {} } = definition
  const { metrics } = database
  metrics.initializeIdempotentCreates(operationId)
  const insert = groupedInsert(database, prepareInserts(database, definition))

  return async (
    request: KeyedRequest<Body, Params>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const body = columns.map(({ property }) => request.body[property])
    const requestValues = fromRequest.map(({ value }) => value(request))
    const hashes = idempotencyHashesOf(request, requestValues)
    const hasIdempotencyKey = hashes.length > 0
    const row = {
      values: [...body, ...requestValues, ...hashes],
      hasIdempotencyKey
    }

    const result = await insert(row).catch((error: unknown) => {
      // The Idempotency-Key makes it safe to send the request again.
      if (hasIdempotencyKey && error instanceof OutcomeUnknown)
        throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
      const { constraint = '' } = postgresErrorIn(error)
      throw violations[constraint]?.(request) ?? error
    })
    const { outcome } = result
    if (hasIdempotencyKey)
      metrics.idempotentCreates.inc({ operation: operationId, outcome })

    switch (result.outcome) {
      case 'created':
        break
      case 'replayed':
        reply.header('idempotent-replayed', 'true')
        break
      case 'invalid':
        // Only an obstacle has this outcome.
        throw obstacle?.invalid(request) as Error
      default:
        throw rejections[result.outcome]()
    }
    if (location !== undefined)
      reply.header('location', location(idIn(result.response)))
    return sendJson(reply, status, json.asObject(result.response))
  }
}

/** The id of a row of JSON, as text: a number would round it. */
const idIn = (row: string) => String((parse(row) as { id: unknown }).id)

/** The responses to outcomes that each create can have. */
const rejections = {
  blocked: () => new Unavailable(new Error('another transaction holds a lock')),

  reused: () =>
    new HttpError(
      422,
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body: send a new key'
    ),

  in_use: () =>
    new HttpError(
      409,
      'idempotency_key_in_use',
      'Another request with this Idempotency-Key is in progress: ' +
        'retry with the same key',
      { 'retry-after': '1' }
    )
}
