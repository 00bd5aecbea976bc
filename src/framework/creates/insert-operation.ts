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
import { keyHashesOf, type KeyedRequest } from './idempotency-key.ts'
import {
  type InsertDefinition,
  insertStatement,
  withKeys,
  withoutKeys
} from './insert.ts'

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
  const { fromRequest = [], invalid, violations = {} } = definition
  const rejections = { ...rejectionsOfAll, invalid }
  const { metrics } = database
  const insert = groupedInsert(
    database,
    database.prepare(operationId, insertStatement(definition, withoutKeys)),
    database.prepare(
      `${operationId}-with-keys`,
      insertStatement(definition, withKeys)
    )
  )
  metrics.initializeIdempotentCreates(operationId)

  return async (
    request: KeyedRequest<Body, Params>,
    reply: JsonReply<Status, Schema>
  ): Promise<Sent> => {
    const reject = (rejection: typeof invalid, error: unknown): never => {
      throw rejection?.(request) ?? error
    }
    const others = fromRequest.map(({ value }) => value(request))
    const body = columns.map(({ property }) => request.body[property])
    const keyHashes = keyHashesOf(request, operationId, others)
    const hasKey = keyHashes.length > 0
    const values = [...body, ...others, ...keyHashes]
    const result = await insert({ values, hasKey }).catch((error: unknown) => {
      // The Idempotency-Key makes it safe to send the request again.
      if (hasKey && error instanceof OutcomeUnknown)
        throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
      const { constraint = '' } = postgresErrorIn(error)
      return reject(violations[constraint], error)
    })

    const { outcome } = result
    if (hasKey)
      metrics.idempotentCreates.inc({ operation: operationId, outcome })
    if (outcome === 'replayed') reply.header('idempotent-replayed', 'true')
    else if (outcome !== 'created')
      return reject(rejections[outcome], new Error(outcome))
    const { response } = result
    if (location !== undefined)
      reply.header('location', location(idIn(response)))

    return sendJson(reply, status, json.asObject(response))
  }
}

/** The id of a row of JSON, as text: a number would round it. */
const idIn = (row: string) => String((parse(row) as { id: unknown }).id)

/** The responses to outcomes that each create can have. */
const rejectionsOfAll = {
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
