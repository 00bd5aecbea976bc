import type { Database } from '../postgres/database.ts'
import { OutcomeUnknown } from '../postgres/failures.ts'
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
  WITH created AS (
    INSERT INTO api_keys (name, shown_part, hash, expires_at, scopes)
    VALUES ($2, $3, decode($4, 'hex'), now() + $5::interval, $6)
    RETURNING id
  )
  INSERT INTO key_events (key_id, event, command)
  SELECT id, 'created', $1
  FROM created
  WHERE ${writeSettings}
  RETURNING key_id
`

/** A concurrent rotation waits for the lock and then sees replaced_by. */
const rotateSql = sql`
  WITH old AS (
    SELECT *
    FROM api_keys
    WHERE $2 IN (id::text, shown_part)
      AND ${keyStateSql} = 'valid'
      AND replaced_by IS NULL
    FOR UPDATE
  ),

  successor AS (
    INSERT INTO api_keys (name, shown_part, hash, expires_at, scopes, first_id)
    SELECT
      name,
      $3,
      decode($4, 'hex'),
      now() + coalesce($5::interval, expires_at - created_at),
      scopes,
      coalesce(first_id, id)
    FROM old
    RETURNING id
  ),

  replaced AS (
    UPDATE api_keys
    SET
      expires_at = least(api_keys.expires_at, now() + $6::interval),
      replaced_by = successor.id
    FROM old, successor
    WHERE api_keys.id = old.id
    RETURNING api_keys.id
  )

  INSERT INTO key_events (key_id, event, command)
  SELECT id, 'rotated', $1
  FROM replaced
  WHERE ${writeSettings}
  UNION ALL
  SELECT id, 'created', $1
  FROM successor
  RETURNING key_id
`

const revokeSql = sql`
  WITH revoked AS (
    UPDATE api_keys
    SET revoked_at = now()
    WHERE $2 IN (id::text, shown_part)
      AND ${keyStateSql} = 'valid'
    RETURNING id
  )
  INSERT INTO key_events (key_id, event, command)
  SELECT id, 'revoked', $1
  FROM revoked
  WHERE ${writeSettings}
  RETURNING key_id
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

const auditSql = sql`
  SELECT ${utc('at')}, key_id::text, name, event, command
  FROM key_events
  JOIN api_keys ON api_keys.id = key_id
  ORDER BY key_events.id
`

/** What a new key may do, and for how long. */
interface KeyOptions {
  /** If left out, the key is valid until it is revoked. */
  lifetime?: string | undefined
  /** It has at least one. If left out, the key may do everything. */
  scopes?: string[] | undefined
}

/**
 * The API keys in PostgreSQL, which has only their hashes.
 *
 * Each method runs one statement, so a change and its entry in the audit log
 * are committed together. A lifetime or an overlap is text that PostgreSQL
 * reads as an interval, such as `90d`.
 */
export class ApiKeyStore {
  readonly #database: Database
  readonly #apiKeyPrefix: string
  readonly #command: string

  /**
   * @param apiKeyPrefix what every API key begins with
   * @param command the origin of changes, for the audit log
   */
  constructor(database: Database, apiKeyPrefix: string, command = 'service') {
    this.#database = database
    this.#apiKeyPrefix = apiKeyPrefix
    this.#command = command
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
    await this.#change(createSql, values)

    return apiKey
  }

  /**
   * Creates and returns the successor of a valid key, with the same scopes. The
   * old key expires after the overlap at the latest.
   *
   * @param idOrShownPart the old key
   * @param lifetime if left out, the one that the old key was created with
   * @throws Error when the old key is not valid or has been replaced
   */
  async rotate(
    idOrShownPart: string,
    overlap: string,
    lifetime?: string
  ): Promise<string> {
    const { apiKey, shownPart, hash } = this.#make()
    const values = [idOrShownPart, shownPart, hash, lifetime, overlap]
    if (await this.#change(rotateSql, values)) return apiKey

    throw new Error(
      `There is no valid key ${idOrShownPart} without a successor; see: keys list`
    )
  }

  /** @throws Error when the key is not valid */
  async revoke(idOrShownPart: string): Promise<void> {
    if (await this.#change(revokeSql, [idOrShownPart])) return

    throw new Error(`There is no valid key ${idOrShownPart}; see: keys list`)
  }

  /** Returns all keys, the oldest first. */
  list(): Promise<PrintedRow[]> {
    return this.#database.run('reads', { text: listSql })
  }

  /** Returns the audit log, the oldest entry first. */
  audit(): Promise<PrintedRow[]> {
    return this.#database.run('reads', { text: auditSql })
  }

  /** Makes a new key, and what is stored of it. */
  #make() {
    const apiKey = makeKey(this.#apiKeyPrefix)
    return { apiKey, shownPart: shownPartOf(apiKey), hash: hashKey(apiKey) }
  }

  /** Returns whether the statement has changed a key. */
  async #change(text: string, values: unknown[]): Promise<boolean> {
    const all = [this.#command, ...values]
    const change = this.#database.run('writes', { text }, all)
    const rows = await change.catch((cause: unknown) => {
      if (!(cause instanceof OutcomeUnknown)) throw cause
      throw new Error(
        'The change may have been made: see keys list. ' +
          'Rotate or revoke a new key that it shows',
        { cause }
      )
    })

    return rows.length > 0
  }
}
