import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import { HttpError } from '../http/errors.ts'
import { groupedWrites } from '../metrics.ts'
import type { Reply, Sent } from '../openapi/handler.ts'
import { columnsOf, type Database, givenRows } from '../postgres/database.ts'
import { isFaultOfValue, OutcomeUnknown } from '../postgres/outcomes.ts'
import { type KeyedRequest, keyOf } from './idempotency.ts'

/** Milliseconds between two attempts to claim a key that another request holds. */
const pollInterval = 50

const reused = 'This Idempotency-Key was used with another body: send a new key'
const inUse =
  'Another request with this Idempotency-Key is in progress: retry with the same key'

/** How an operation creates rows from the bodies of its requests. */
interface Creation<Body> {
  table: string
  /** The SQL types of the values that a row takes from a body, by name. */
  given: Record<string, string>
  /** Returns these values. */
  values: (body: Body) => unknown[]
  /** SQL that selects rows, each with an `id` and its `place`, from the table `given`, which has the values and `place`. */
  rows: string
  /** The columns to store. The rows have them. */
  stored: string
  /** An SQL expression for the response to a row, as JSON; null for an invalid row, which is not stored. */
  json: string
  /** Returns the error for the body of an invalid row. */
  invalid?: (body: Body) => Error
}

/** The row created for a request, or by the first request with its key. Without a key, it has only the response. */
interface Created {
  response: string | null
  isReplay?: boolean
  /** Whether the first body of the key was the same; null while nothing is recorded for the key. */
  isSame?: boolean | null
}

/** The reply of an operation that documents the status. */
interface ReplyWith<Status> extends Pick<Reply<never>, 'header'> {
  code: (status: Status) => { send(body: Buffer): Sent }
}

function newRows(
  { rows, json }: Creation<never>,
  given: Record<string, string>
): string {
  return `
    WITH given AS (
      SELECT * FROM ${givenRows(Object.values(given))} AS given (${Object.keys(given).join()}, place)
    ), new AS (
      SELECT *, ${json} AS response FROM (${rows} ORDER BY place) AS new
    )`
}

// The division by zero rejects a row that a trigger of the table has dropped.
const create = (
  creation: Creation<never>
) => `${newRows(creation, creation.given)},
  stored AS (
    INSERT INTO ${creation.table} (${creation.stored})
    SELECT ${creation.stored} FROM new WHERE response IS NOT NULL ORDER BY place RETURNING id
  )
  SELECT response FROM new LEFT JOIN stored USING (id)
  WHERE 1 / (response IS NULL OR stored.id IS NOT NULL)::int = 1 ORDER BY place`

// Claims the keys of new rows, and stores only the rows whose key it has claimed. The response is unique, because it has the
// id: it distinguishes rows with the same key. The lock makes a transaction that holds a key visible before it commits. Without
// it, the INSERT would wait for that transaction, and with it the whole group. The message makes a replay a write, whose commit
// waits for the synchronous standby: the record may be visible before the standby has it.
const createOnce = (creation: Creation<never>) => `
  ${newRows(creation, { ...creation.given, key: 'bytea', fingerprint: 'bytea' })},
  claimed AS (
    INSERT INTO idempotency_keys (key, fingerprint, response) SELECT key, fingerprint, response FROM new
    WHERE response IS NOT NULL AND pg_try_advisory_xact_lock(hashtextextended(encode(key, 'hex'), 0))
    ON CONFLICT DO NOTHING RETURNING key, fingerprint, response
  ), stored AS (
    INSERT INTO ${creation.table} (${creation.stored})
    SELECT ${creation.stored} FROM new JOIN claimed USING (response) ORDER BY place RETURNING id
  )
  SELECT coalesce(claimed.response, earlier.response, new.response) AS response, stored.id IS NULL AS "isReplay",
    coalesce(claimed.fingerprint, earlier.fingerprint) = new.fingerprint AS "isSame"
  FROM new LEFT JOIN stored USING (id) LEFT JOIN claimed USING (key) LEFT JOIN LATERAL (
    SELECT *, pg_logical_emit_message(true, 'idempotency-key', '') FROM idempotency_keys
    WHERE key = new.key AND claimed.key IS NULL LIMIT 1
  ) AS earlier ON true
  WHERE 1 / ((claimed.response = new.response AND stored.id IS NULL) IS NOT TRUE)::int = 1 ORDER BY place`

/** Returns a function that stores the values of a row. Rows that arrive together share one statement. */
function groupedWrite(database: Database, name: string, text: string) {
  function write(rows: unknown[][]): Promise<Created[]> {
    groupedWrites.observe({ statement: name }, rows.length)
    return database.write<Created>({ name, text, values: columnsOf(rows) })
  }
  return batch(write, {
    maxWaiting: 1000,
    maxSize: 250,
    isFaultOfItem: isFaultOfValue
  })
}

/**
 * The handler of an operation that creates a row from its body. Requests that arrive together share one statement. The next
 * group gathers while one commits, so an idle service adds no delay. A row that PostgreSQL rejects fails alone. An
 * Idempotency-Key creates once; while another request with the key is in progress, a request waits for up to DATABASE_TIMEOUT_MS.
 *
 * @param status of the response
 * @returns a handler that rejects like `Database.write`, with Overloaded if too many requests wait, and with HttpError 409 and
 *   422 for keys
 */
export function createHandler<Body extends object, Status extends number>(
  database: Database,
  status: Status,
  creation: Creation<Body>
) {
  const { table, values, invalid } = creation
  const write = groupedWrite(database, `create-${table}`, create(creation))
  const claim = groupedWrite(
    database,
    `create-${table}-once`,
    createOnce(creation)
  )

  async function createOncePerKey(row: unknown[]): Promise<Created> {
    const deadline = performance.now() + database.timeout
    for (;;) {
      const created = await claim(row).catch((error: unknown) => {
        throw error instanceof OutcomeUnknown
          ? new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
          : error
      })
      if (created.isSame === false)
        throw new HttpError(422, 'idempotency_key_reused', reused)
      if (created.isSame === true || created.response === null) return created
      if (performance.now() > deadline)
        throw new HttpError(409, 'idempotency_key_in_use', inUse, {
          'retry-after': '1'
        })
      await sleep(pollInterval)
    }
  }

  return async (request: KeyedRequest<Body>, reply: ReplyWith<Status>) => {
    const key = keyOf(request, table)
    const row = values(request.body)
    const { response, isReplay } = await (key === undefined
      ? write(row)
      : createOncePerKey([...row, ...key]))
    if (response === null && invalid !== undefined) throw invalid(request.body)
    reply.header('content-type', 'application/json; charset=utf-8')
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return reply.code(status).send(Buffer.from(response as string))
  }
}
