import type { Database } from '../postgres/database.ts'
import { inputParameters, inputTable, sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'
import {
  type EndedKey,
  hashKey,
  type ApiKeyCheck,
  makeKey,
  shownPartOf,
  type ValidKey
} from './key.ts'

const maxNameLength = 100

/** Control and format characters, unpaired surrogates, and line breaks. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** A row of a list for people: null where there is no value. */
export type PrintedRow = Record<string, string | null>

type FoundRow = ValidKey | EndedKey | { id: null; state: 'unknown' }

const keyState = sql`
  CASE
    WHEN revoked_at IS NOT NULL THEN 'revoked'
    WHEN expires_at <= now() THEN 'expired'
    ELSE 'valid'
  END
`

const isValid = sql`
  revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now())
`

const findStatement = sql`
  SELECT
    id,
    coalesce(root, id) AS root,
    CASE
      WHEN id IS NULL THEN 'unknown'
      ELSE ${keyState}
    END AS state,
    scopes,
    coalesce(last_used_at = date_trunc('minute', now()), false) AS "isUseRecorded"
  FROM ${inputTable({ hash: 'text' })}
  LEFT JOIN api_keys ON api_keys.hash = decode(input.hash, 'hex')
  ORDER BY ordinal
`

const recordUseStatement = sql`
  UPDATE api_keys
  SET last_used_at = date_trunc('minute', now())
  WHERE id IN (
    SELECT id
    FROM api_keys
    WHERE id = ANY ($1)
    FOR NO KEY UPDATE SKIP LOCKED
  )
`

/** A concurrent rotation waits for the lock and then sees replaced_by. */
const rotateStatement = sql`
  WITH old AS (
    SELECT
      id,
      coalesce(root, id) AS root,
      name,
      expires_at - created_at AS lifetime,
      scopes
    FROM api_keys
    WHERE id::text = $2
      AND ${isValid}
      AND replaced_by IS NULL
    FOR UPDATE
  ),

  successor AS (
    INSERT INTO api_keys (name, prefix, hash, expires_at, scopes, root)
    SELECT
      name,
      $3,
      decode($4, 'hex'),
      now() + coalesce($5::interval, lifetime),
      scopes,
      root
    FROM old
    RETURNING id
  ),

  replaced AS (
    UPDATE api_keys
    SET
      expires_at = least(expires_at, now() + $6::interval),
      replaced_by = successor.id
    FROM successor
    WHERE api_keys.id::text = $2
    RETURNING api_keys.id
  ),

  changed AS (
    SELECT id, 'rotated' AS event
    FROM replaced
    UNION ALL
    SELECT id, 'created'
    FROM successor
  )

  INSERT INTO key_events (key_id, event, command)
  SELECT id, event, $1
  FROM changed
  RETURNING key_id
`

/** What a new key may do, and for how long. */
interface KeyOptions {
  /** If left out, the key is valid until it is revoked. */
  lifetime?: string | undefined
  /** At least one; if left out, the key may do everything. */
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
  readonly #find: NamedStatement
  readonly #recordUse: NamedStatement

  /**
   * @param apiKeyPrefix what every API key begins with
   * @param command the origin of changes, for the audit log
   */
  constructor(database: Database, apiKeyPrefix: string, command = 'service') {
    this.#database = database
    this.#apiKeyPrefix = apiKeyPrefix
    this.#command = command
    this.#find = database.statements.add('find-api-keys', findStatement)
    this.#recordUse = database.statements.add(
      'record-use-of-api-keys',
      recordUseStatement
    )
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
    requireName(name)
    const apiKey = makeKey(this.#apiKeyPrefix)
    const text = sql`
      WITH created AS (
        INSERT INTO api_keys (name, prefix, hash, expires_at, scopes)
        VALUES ($2, $3, decode($4, 'hex'), now() + $5::interval, $6)
        RETURNING id
      )
      INSERT INTO key_events (key_id, event, command)
      SELECT id, 'created', $1
      FROM created
    `

    const { prefix, hash } = storedParts(apiKey)
    const values = [this.#command, name, prefix, hash, lifetime, scopes]
    await this.#database.write({ text, values })

    return apiKey
  }

  /**
   * Creates and returns the successor of a valid key, with the same scopes. The
   * old key expires after the overlap at the latest.
   *
   * @param idOrPrefix the old key
   * @param lifetime if left out, the one that the old key was created with
   * @throws Error when the old key is not valid or has been replaced
   */
  async rotate(
    idOrPrefix: string,
    overlap: string,
    lifetime?: string
  ): Promise<string> {
    const id = await this.#idOf(idOrPrefix)
    const apiKey = makeKey(this.#apiKeyPrefix)
    const { prefix, hash } = storedParts(apiKey)
    const changed = await this.#database.write({
      text: rotateStatement,
      values: [this.#command, id, prefix, hash, lifetime, overlap]
    })
    if (changed.length > 0) return apiKey
    throw new Error(
      `Key ${id} is not valid or has been replaced; see: keys list`
    )
  }

  /**
   * Revokes a key, and returns its id.
   *
   * @throws Error when the key is not valid
   */
  async revoke(idOrPrefix: string): Promise<string> {
    const id = await this.#idOf(idOrPrefix)
    const text = sql`
      WITH revoked AS (
        UPDATE api_keys
        SET revoked_at = now()
        WHERE id::text = $2
          AND ${isValid}
        RETURNING id
      )
      INSERT INTO key_events (key_id, event, command)
      SELECT id, 'revoked', $1
      FROM revoked
      RETURNING key_id
    `

    const values = [this.#command, id]
    const revoked = await this.#database.write({ text, values })
    if (revoked.length === 0)
      throw new Error(`Key ${id} is not valid; see: keys list`)

    return id
  }

  /**
   * All keys, oldest first.
   *
   * The time of a use is stored rounded down to the minute, which can be before
   * the creation.
   */
  list(): Promise<PrintedRow[]> {
    const text = sql`
      SELECT
        id::text,
        name,
        prefix,
        coalesce(array_to_string(scopes, ' '), 'all') AS scopes,
        to_char(created_at AT TIME ZONE 'UTC', iso) AS created_at,
        to_char(used_at AT TIME ZONE 'UTC', iso) AS last_used_at,
        to_char(expires_at AT TIME ZONE 'UTC', iso) AS expires_at,
        to_char(revoked_at AT TIME ZONE 'UTC', iso) AS revoked_at,
        replaced_by::text,
        ${keyState} AS state
      FROM
        api_keys,
        LATERAL (
          SELECT
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' AS iso,
            CASE
              WHEN last_used_at < created_at THEN created_at
              ELSE last_used_at
            END AS used_at
        ) AS shown
      ORDER BY api_keys.id
    `

    return this.#database.read<PrintedRow>({ text })
  }

  /** The audit log, oldest first. */
  events(): Promise<PrintedRow[]> {
    const text = sql`
      SELECT
        to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
        key_id::text,
        name,
        event,
        command
      FROM key_events
      JOIN api_keys ON api_keys.id = key_id
      ORDER BY key_events.id
    `

    return this.#database.read<PrintedRow>({ text })
  }

  /**
   * Looks up keys by their hashes.
   *
   * @returns the results, in the order of the hashes
   */
  async find(hashes: string[]): Promise<ApiKeyCheck[]> {
    const rows = await this.#database.read<FoundRow>({
      ...this.#find,
      values: inputParameters(hashes.map((hash) => [hash]))
    })

    return rows.map((row) => (row.id === null ? { state: row.state } : row))
  }

  /**
   * Records that the keys were used in this minute. Skips keys that another
   * session has locked.
   */
  recordUse(ids: bigint[]): Promise<unknown[]> {
    return this.#database.runInBackground({
      ...this.#recordUse,
      values: [ids]
    })
  }

  /**
   * Returns the id of the key with this id or prefix.
   *
   * @throws Error when not exactly one key has it
   */
  async #idOf(idOrPrefix: string): Promise<string> {
    const text = sql`
      SELECT id::text
      FROM api_keys
      WHERE $1 IN (id::text, prefix)
    `
    const values = [idOrPrefix]
    const rows = await this.#database.read<{ id: string }>({ text, values })
    const [row, another] = rows
    if (row !== undefined && another === undefined) return row.id

    const count = row === undefined ? 'No key has' : 'Several keys have'
    throw new Error(`${count} the id or prefix ${idOrPrefix}; see: keys list`)
  }
}

const storedParts = (apiKey: string) => ({
  prefix: shownPartOf(apiKey),
  hash: hashKey(apiKey)
})

/** Keeps lists of keys readable: nobody can forge lines or hide a name. */
function requireName(name: string): void {
  const isVisible = name.trim() !== '' && !unprintable.test(name)
  if (!isVisible || name.length > maxNameLength) {
    throw new Error(
      `The name of a key must have 1 to ${maxNameLength} characters, without control characters`
    )
  }
}
