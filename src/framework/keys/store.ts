import type { Logger } from 'pino'
import type { Database } from '../postgres/database.ts'
import {
  errorKindOf,
  OutcomeUnknown,
  postgresErrorIn
} from '../postgres/failures.ts'
import { sql, writeSettings } from '../postgres/sql.ts'
import { hashKey, makeKey, shownPartOf } from './key.ts'

/** Text without control or format characters, surrogates or line breaks. */
const printablePattern = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u

/** A row of a printed table. It has null where there is no value. */
export type PrintedRow = Record<string, unknown>

/** The state of a row of the table api_keys, which may be missing. */
export const keyStateSql = sql`
  CASE
    WHEN api_keys.id IS NULL THEN 'unknown'
    WHEN revoked_at IS NOT NULL THEN 'revoked'
    WHEN expires_at <= now() THEN 'expired'
    ELSE 'valid'
  END
`

const createSql = sql`
  INSERT INTO api_keys (name, shown_part, hash, expires_at, scopes)
  SELECT $1, $2, decode($3, 'hex'), now() + $4::interval, $5
  WHERE ${writeSettings}
  RETURNING id::text AS key
`

/** Replicas that start together have the same key: all but one conflict. */
const createFirstSql = sql`
  INSERT INTO api_keys (name, shown_part, hash)
  SELECT 'first', $1, decode($2, 'hex')
  WHERE NOT EXISTS (SELECT FROM api_keys)
    AND ${writeSettings}
  ON CONFLICT DO NOTHING
  RETURNING id::text AS key
`

/** A concurrent rotation waits for the lock and then sees replaced_by. */
const rotateSql = sql`
  WITH old AS (
    SELECT *
    FROM api_keys
    WHERE $1 IN (id::text, shown_part)
      AND ${keyStateSql} = 'valid'
      AND replaced_by IS NULL
      AND ${writeSettings}
    FOR UPDATE
  ),

  successor AS (
    INSERT INTO api_keys (name, shown_part, hash, expires_at, scopes, first_id)
    SELECT
      name,
      $2,
      decode($3, 'hex'),
      now() + coalesce($4::interval, expires_at - created_at),
      scopes,
      coalesce(first_id, id)
    FROM old
    RETURNING id
  )

  UPDATE api_keys
  SET
    expires_at = least(api_keys.expires_at, now() + $5::interval),
    replaced_by = successor.id
  FROM old, successor
  WHERE api_keys.id = old.id
  RETURNING api_keys.id::text AS key, api_keys.replaced_by::text AS successor
`

const revokeSql = sql`
  UPDATE api_keys
  SET revoked_at = now()
  WHERE $1 IN (id::text, shown_part)
    AND ${keyStateSql} = 'valid'
    AND ${writeSettings}
  RETURNING id::text AS key
`

/** A time in UTC, whatever DateStyle and TimeZone the database has. */
const utc = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`

const listSql = sql`
  SELECT
    id::text,
    name,
    shown_part,
    coalesce(array_to_string(scopes, ' '), 'all') AS scopes,
    ${utc('created_at')},
    ${utc('last_used_at')},
    ${utc('expires_at')},
    ${utc('revoked_at')},
    replaced_by::text,
    ${keyStateSql} AS state
  FROM api_keys
  ORDER BY api_keys.id
`

/** What a new key may do, and for how long. */
interface KeyOptions {
  /** If left out, the key is valid until it is revoked. */
  lifetime?: string | undefined
  /** It has at least one. If left out, the key may do everything. */
  scopes?: string[] | undefined
}

/**
 * The API keys in PostgreSQL, which has only their hashes. The log has each
 * change, after its commit.
 *
 * A lifetime or an overlap is text that PostgreSQL reads as an interval, such
 * as `90d`.
 */
export class ApiKeyStore {
  readonly #database: Database
  readonly #apiKeyPrefix: string
  readonly #log: Logger

  /** @param apiKeyPrefix what every API key begins with */
  constructor(database: Database, apiKeyPrefix: string, log: Logger) {
    this.#database = database
    this.#apiKeyPrefix = apiKeyPrefix
    this.#log = log
  }

  /**
   * Creates a key and returns it.
   *
   * @param name the client that the key is for
   * @throws Error when the name cannot be shown in one short line
   */
  async create(
    name: string,
    { lifetime, scopes }: KeyOptions = {}
  ): Promise<string> {
    // Nobody can forge lines of a list of keys, or hide a name.
    if (!printablePattern.test(name)) {
      throw new Error(
        'The name of a key must have 1 to 100 characters, without control characters'
      )
    }
    const { apiKey, shownPart, hash } = this.#make()
    const values = [name, shownPart, hash, lifetime, scopes]
    await this.#change('API key created', createSql, values)

    return apiKey
  }

  /** Stores a key that somebody else has made, unless there are others. */
  async createFirst(apiKey: string): Promise<void> {
    const values = [shownPartOf(apiKey), hashKey(apiKey)]
    await this.#change('API key created', createFirstSql, values)
  }

  /**
   * Creates and returns the successor of a valid key, with the same scopes. The
   * old key expires after the overlap at the latest.
   *
   * @param idOrShownPart the old key
   * @param lifetime if left out, the one that the old key was created with
   * @throws Error when the old key is not valid, has been replaced, or is
   *   locked
   */
  async rotate(
    idOrShownPart: string,
    overlap: string,
    lifetime?: string
  ): Promise<string> {
    const { apiKey, shownPart, hash } = this.#make()
    const values = [idOrShownPart, shownPart, hash, lifetime, overlap]
    if (await this.#change('API key rotated', rotateSql, values)) return apiKey

    throw new Error(
      `There is no valid key ${idOrShownPart} without a successor; see: keys list`
    )
  }

  /** @throws Error when the key is not valid, or is locked */
  async revoke(idOrShownPart: string): Promise<void> {
    if (await this.#change('API key revoked', revokeSql, [idOrShownPart]))
      return

    throw new Error(`There is no valid key ${idOrShownPart}; see: keys list`)
  }

  /** Returns all keys, the oldest first. */
  list(): Promise<PrintedRow[]> {
    return this.#database.run('reads', { text: listSql })
  }

  /** Makes a new key, and what is stored of it. */
  #make() {
    const apiKey = makeKey(this.#apiKeyPrefix)
    return { apiKey, shownPart: shownPartOf(apiKey), hash: hashKey(apiKey) }
  }

  /** Changes a key, and returns whether the key could be changed. */
  async #change(
    message: string,
    text: string,
    values: unknown[]
  ): Promise<boolean> {
    try {
      const rows = await this.#database.run('writes', { text }, values)
      for (const ids of rows) this.#log.info(ids, message)
      return rows.length > 0
    } catch (cause) {
      throw explained(cause)
    }
  }
}

/** Says what the operator can do about a failed change. */
function explained(cause: unknown): unknown {
  if (cause instanceof OutcomeUnknown) {
    return new Error(
      'The change may have been made: see keys list. ' +
        'Rotate or revoke a new key that it shows',
      { cause }
    )
  }
  // query_canceled: the service has ended a wait for a lock of the table.
  const isSlow = postgresErrorIn(cause).code === '57014'
  return isSlow || errorKindOf(cause) === 'conflict'
    ? new Error('The key is locked, or PostgreSQL is slow: try again', {
        cause
      })
    : cause
}
