import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import { badRequest, HttpError } from '../http/errors.ts'
import { groupedWrites } from '../metrics.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import { type JsonBytes, objectBytes } from '../openapi/json.ts'
import { columnsOf, type Database } from '../postgres/database.ts'
import {
  isFaultOfValue,
  OutcomeUnknown,
  Unavailable
} from '../postgres/outcomes.ts'
import { claimOf, type KeyedRequest } from './idempotency-key.ts'
import {
  type Insert,
  inputValues,
  insertStatement,
  type Result
} from './insert.ts'
import { insertOnceStatement } from './insert-once.ts'

/** Milliseconds between two attempts to store a row: doubled each time. */
const firstPause = 50
const longestPause = 400

/** Rows. More requests may wait for a statement than it takes. */
const maxGroup = 250
const maxWaiting = 1000

/** An operation that creates a row from the body of its request. */
interface InsertOperation<Body, Status, Schema> extends Insert<Body, Schema> {
  /** The status of the response. */
  status: Status
}

/** The reply of an operation that documents the status with the schema. */
interface ReplyWith<Status, Schema> extends Pick<Reply<never>, 'header'> {
  code: (status: Status) => { send(body: JsonBytes<Schema>): Sent }
}

/**
 * The handler of an operation that creates a row from the body of its request.
 *
 * Requests that arrive together share one statement. The next group gathers
 * while one commits, so an idle service adds no delay. A row that PostgreSQL
 * rejects fails alone. A request waits alone, for up to DATABASE_TIMEOUT_MS,
 * while another one holds its Idempotency-Key, or while a transaction has
 * locked a row that the new one refers to.
 *
 * @returns a handler that rejects like `Database.write`, with Overloaded if too
 *   many requests wait, and with HttpError 400, 409 and 422
 */
export function insertOperation<Body extends object, Status, Schema>(
  database: Database,
  operation: InsertOperation<Body, Status, Schema>
) {
  const { table, status, row } = operation
  const insert = groupedWrite(
    database,
    `create-${table}`,
    insertStatement(operation)
  )
  const insertOnce = groupedWrite(
    database,
    `create-${table}-once`,
    insertOnceStatement(operation)
  )

  async function create(request: KeyedRequest<Body>): Promise<Result> {
    const values = inputValues(operation, request.body)
    const claim = claimOf(request, table)

    if (claim === undefined) {
      return repeatedWhileBlocked(() => insert(values), database.timeout)
    }

    const keyed = [...values, claim.key, claim.fingerprint]

    return repeatedWhileBlocked(
      () => insertOnce(keyed).catch(mayBeSentAgain),
      database.timeout
    )
  }

  return async (
    request: KeyedRequest<Body>,
    reply: ReplyWith<Status, Schema>
  ): Promise<Sent> => {
    const result = await create(request)

    switch (result.outcome) {
      case 'invalid':
        throw badRequest(String(operation.check?.message(request.body)))
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
    }

    reply.header('content-type', 'application/json; charset=utf-8')

    return reply.code(status).send(objectBytes(row, result.response))
  }
}

/** A function that writes one row. Rows that arrive together share a statement. */
function groupedWrite(database: Database, name: string, text: string) {
  function write(rows: unknown[][]): Promise<Result[]> {
    groupedWrites.observe({ statement: name }, rows.length)

    return database.write<Result>({ name, text, values: columnsOf(rows) })
  }

  return batch(write, {
    maxWaiting,
    maxSize: maxGroup,
    isFaultOfItem: isFaultOfValue
  })
}

/** Writes again, with later groups, while another transaction is in the way. */
async function repeatedWhileBlocked(
  write: () => Promise<Result>,
  timeout: number
): Promise<Result> {
  const deadline = performance.now() + timeout
  let pause = firstPause

  for (;;) {
    const result = await write()
    const isBlocked = result.outcome === 'held' || result.outcome === 'locked'

    if (!isBlocked || performance.now() > deadline) return result

    await sleep(pause)
    pause = Math.min(2 * pause, longestPause)
  }
}

/** Tells the client that the Idempotency-Key makes it safe to send again. */
function mayBeSentAgain(error: unknown): never {
  if (error instanceof OutcomeUnknown) {
    throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
  }

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
