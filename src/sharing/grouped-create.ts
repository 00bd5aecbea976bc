import type { Reply } from '../openapi/handler.ts'
import { type Database, givenRows } from '../postgres/database.ts'
import { groupedWrite } from './grouped-write.ts'
import { type Created, createOncePerKey, type Key, type KeyedRequest, keyOf } from './idempotency.ts'

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

function newRows({ rows, json }: Creation<never>, given: Record<string, string>): string {
  return `
    WITH given AS (
      SELECT * FROM ${givenRows(Object.values(given))} AS given (${Object.keys(given).join()}, place)
    ), new AS (
      SELECT *, ${json} AS response FROM (${rows} ORDER BY place) AS new
    )`
}

// The division by zero rejects a row that a trigger of the table has dropped.
const create = (creation: Creation<never>) => `${newRows(creation, creation.given)},
  stored AS (
    INSERT INTO ${creation.table} (${creation.stored})
    SELECT ${creation.stored} FROM new WHERE response IS NOT NULL ORDER BY place RETURNING id
  )
  SELECT response FROM new LEFT JOIN stored USING (id)
  WHERE 1 / (response IS NULL OR stored.id IS NOT NULL)::int = 1 ORDER BY place`

// Claims the keys of new rows, and stores only the rows whose key it has claimed. The response is unique, because it has the
// id: it distinguishes rows with the same key. The lock makes a transaction that holds a key visible before it commits. Without
// it, the INSERT would wait for that transaction, and with it the whole group.
const createOnce = (creation: Creation<never>) => `
  ${newRows(creation, { ...creation.given, key: 'bytea', fingerprint: 'bytea' })},
  claimed AS (
    INSERT INTO idempotency_keys (key, fingerprint, response) SELECT key, fingerprint, response FROM new
    WHERE response IS NOT NULL AND pg_try_advisory_xact_lock(hashtextextended(encode(key, 'hex'), 0))
    ON CONFLICT DO NOTHING RETURNING response
  ), stored AS (
    INSERT INTO ${creation.table} (${creation.stored})
    SELECT ${creation.stored} FROM new JOIN claimed USING (response) ORDER BY place RETURNING id
  )
  SELECT response, stored.id IS NOT NULL AS "isClaimed"
  FROM new LEFT JOIN claimed USING (response) LEFT JOIN stored USING (id)
  WHERE 1 / (claimed.response IS NULL OR stored.id IS NOT NULL)::int = 1 ORDER BY place`

/**
 * Creates a row from the body of each request. Requests that arrive together share one statement; an Idempotency-Key creates
 * once, and its replays share one too.
 *
 * @returns creates the row of a request, sets the headers of its response, and returns the JSON; rejects like
 *   `groupedWrite`, and with HttpError 409 and 422 for keys
 */
export function groupedCreate<Body extends object>(database: Database, creation: Creation<Body>) {
  const { table, values, invalid } = creation
  const name = `create-${table}`
  const write = groupedWrite<Body, Created>(database, name, create(creation), values)
  const claim = groupedWrite<Key & { body: Body }, Created & { isClaimed: boolean }>(
    database,
    `${name}-once`,
    createOnce(creation),
    ({ body, key, fingerprint }) => [...values(body), key, fingerprint]
  )
  const writeOnce = createOncePerKey(database, claim)

  return async (request: KeyedRequest & { body: Body }, reply: Pick<Reply<object>, 'header'>) => {
    const { body } = request
    const key = keyOf(request, table)
    const { response, isReplay } = await (key === undefined ? write(body) : writeOnce({ body, ...key }))
    if (response === null && invalid !== undefined) throw invalid(body)
    reply.header('content-type', 'application/json; charset=utf-8')
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return Buffer.from(response as string)
  }
}
