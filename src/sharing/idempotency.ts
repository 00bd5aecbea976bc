import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'safe-stable-stringify'
import type { KeyCheck } from '../api-keys/key.ts'
import { HttpError } from '../http/errors.ts'
import { type Database, givenRows } from '../postgres/database.ts'
import { OutcomeUnknown } from '../postgres/errors.ts'
import { groupedWrite } from './grouped-write.ts'

/** The privileges that the statements of keyed creates need. */
export const idempotencyPrivileges = { idempotency_keys: 'SELECT, INSERT, DELETE' }

/** Milliseconds between two attempts to claim a key that another request holds. */
const pollInterval = 50

export interface KeyedRequest {
  headers: { 'idempotency-key'?: string | undefined }
  apiKey: KeyCheck | undefined
  body: object
}

/** SHA-256 as text of PostgreSQL's type bytea. A Buffer takes longer. */
const digest = (text: string) => `\\x${hash('sha256', text, 'hex')}`

/**
 * The Idempotency-Key of a valid request, in the scope of its API key and of an operation, and the fingerprint of its body;
 * undefined without one.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07
 */
export function keyOf({ headers, apiKey, body }: KeyedRequest, operation: string) {
  const { 'idempotency-key': given } = headers
  if (given === undefined) return undefined
  // A string of RFC 9651, section 3.3.3, or the bare text.
  const text = given.startsWith('"') ? given.slice(1, -1).replace(/\\(.)/g, '$1') : given
  // Equal values have equal JSON: properties are sorted by name, and a bigint is exact.
  return { key: digest(`${apiKey?.root} ${operation} ${text}`), fingerprint: digest(stringify(body)) }
}

const reused = 'This Idempotency-Key was used with another body: send a new key'
const inUse = 'Another request with this Idempotency-Key is in progress: retry with the same key'

export type Key = NonNullable<ReturnType<typeof keyOf>>

/** A created row; the response is null if nothing was stored. */
export type Created = { response: string | null; isReplay?: boolean }

// The message makes the transaction a write, whose commit waits for the synchronous standby: the record may be visible before
// the standby has it.
const replay = `
  SELECT response, stored.fingerprint = given.fingerprint AS "isSame",
    pg_logical_emit_message(true, 'idempotency-key', '')
  FROM ${givenRows(['bytea', 'bytea'])} AS given (key, fingerprint, place)
    LEFT JOIN LATERAL (SELECT * FROM idempotency_keys WHERE key = given.key LIMIT 1) AS stored ON true ORDER BY place`

/**
 * Returns a function that creates once for each key, and returns the response of the first request to the others. While
 * another request with the key is in progress, it waits for up to DATABASE_TIMEOUT.
 *
 * @param claim creates an item if its key is free
 * @throws HttpError 409 after that time, and 422 when the key was used with another body
 */
export function createOncePerKey<Item extends Key>(
  database: Database,
  claim: (item: Item) => Promise<Created & { isClaimed: boolean }>
) {
  const read = groupedWrite<Key, { response: string | null; isSame: boolean }>(
    database,
    'replay-creates',
    replay,
    ({ key, fingerprint }) => [key, fingerprint]
  )

  async function createOnce(item: Item): Promise<Created> {
    const deadline = performance.now() + database.timeout
    for (;;) {
      const { response, isClaimed } = await claim(item)
      if (isClaimed) return { response }
      const first = await read(item)
      if (first.response !== null) {
        if (first.isSame) return { response: first.response, isReplay: true }
        throw new HttpError(422, 'idempotency_key_reused', reused)
      }
      // Nothing can be created now, and nothing was.
      if (response === null) return { response }
      if (performance.now() > deadline) {
        throw new HttpError(409, 'idempotency_key_in_use', inUse, { 'retry-after': '1' })
      }
      await sleep(pollInterval)
    }
  }

  return (item: Item) =>
    createOnce(item).catch((error: unknown) => {
      throw error instanceof OutcomeUnknown ? new OutcomeUnknown(error.cause, 'outcome_unknown_with_key') : error
    })
}
