import { parse } from 'lossless-json'
import { HttpError, unavailable } from '../errors.ts'
import { type JsonReply, type Sent, sendJson } from '../openapi/handler.ts'
import type { Database } from '../postgres/database.ts'
import { OutcomeUnknown, postgresErrorIn } from '../postgres/failures.ts'
import { groupedInsert } from './grouped-insert.ts'
import { idempotencyHashesOf, type CreateRequest } from './idempotency-key.ts'
import { type CreateDefinition, prepareInserts } from './insert-statement.ts'

/**
 * The handler of an operation that creates a row from its request, once for
 * each Idempotency-Key.
 *
 * @returns a handler that rejects like `Database.write`, with Overloaded if too
 *   many requests wait, and with HttpError
 */
export function createHandler<Body extends object, Params, Status, Schema>(
  database: Database,
  definition: CreateDefinition<Body, Params, Status, Schema>
) {
  const { operationId, status, bodyColumns, json, location } = definition
  const { otherColumns = [], precheck, errorsByConstraint = {} } = definition
  const { metrics } = database
  metrics.initializeIdempotentCreates(operationId)
  const insert = groupedInsert(database, prepareInserts(database, definition))

  return async (
    request: CreateRequest<Body, Params>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const bodyValues = bodyColumns.map(({ property }) => request.body[property])
    const otherValues = otherColumns.map(({ value }) => value(request))
    const hashes = idempotencyHashesOf(request, bodyColumns, otherValues)
    const hasIdempotencyKey = hashes.length > 0
    const row = {
      values: [...bodyValues, ...otherValues, ...hashes],
      hasIdempotencyKey
    }

    const result = await insert(row).catch((error: unknown) => {
      // The Idempotency-Key makes it safe to send the request again.
      if (hasIdempotencyKey && error instanceof OutcomeUnknown)
        throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
      const { constraint = '' } = postgresErrorIn(error)
      throw errorsByConstraint[constraint]?.(request) ?? error
    })
    const { outcome } = result
    if (hasIdempotencyKey)
      metrics.idempotentCreates.inc({ operation: operationId, outcome })

    switch (outcome) {
      case 'created':
        break
      case 'replayed':
        reply.header('idempotent-replayed', 'true')
        break
      case 'invalid':
        // Only a precheck has this outcome.
        throw precheck?.invalid(request) as Error
      default:
        throw rejections[outcome]()
    }
    if (location !== undefined)
      reply.header('location', location(idIn(result.response)))
    return sendJson(reply, status, json.object(result.response))
  }
}

/** The id of a row of JSON, as text: a number would round it. */
const idIn = (row: string) => String((parse(row) as { id: unknown }).id)

/** The responses to outcomes that each create can have. */
const rejections = {
  blocked: () => unavailable,

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
