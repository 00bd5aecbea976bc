import type { ClientBase } from 'pg'
import { consequenceOf } from '../postgres/failures.ts'
import { sha256Bytea, rawSql } from '../postgres/sql.ts'
import { randomApiKey, displayPrefixOf } from './api-key.ts'

/**
 * 1 to 100 characters that can be seen, so that nobody can forge lines of a
 * list of API keys, or hide a name. U+200C and U+200D, which join the letters
 * of a Persian word or the parts of an emoji, are allowed.
 */
const namePattern = /^(?:[^\p{C}\p{Zl}\p{Zp}]|[\u200C\u200D]){1,100}$/u

const createApiKeySql = rawSql`
  INSERT INTO api_keys (name, display_prefix, hash, expires_at, scopes)
  VALUES ($1, $2, $3, now() + $4::interval, $5)
`

const revokeApiKeySql = rawSql`
  UPDATE api_keys
  SET revoked_at = now()
  WHERE id::text = $1 AND revoked_at IS NULL
`

const listApiKeysSql = rawSql`
  SELECT
    id,
    name,
    display_prefix AS "apiKey",
    coalesce(array_to_string(scopes, ' '), 'all') AS scopes,
    CASE
      WHEN revoked_at IS NOT NULL THEN 'revoked'
      WHEN expires_at <= now() THEN 'expired'
      ELSE 'valid'
    END AS state,
    created_at AS created,
    expires_at AS expires,
    revoked_at AS revoked
  FROM api_keys
  ORDER BY id
`

/** What a new API key may do, and for how long. */
export interface ApiKeyOptions {
  /**
   * An interval of PostgreSQL. By default, the API key is valid until it is
   * revoked.
   */
  lifetime?: string | undefined
  /** At least one. By default, the API key may do everything. */
  scopes?: string[] | undefined
}

/**
 * Creates an API key and returns it.
 *
 * @param name the client that the API key is for
 * @throws Error when the name cannot be shown in one short line
 */
export async function createApiKey(
  connection: ClientBase,
  name: string,
  { lifetime, scopes }: ApiKeyOptions = {}
): Promise<string> {
  if (!namePattern.test(name)) {
    throw new Error(
      'the name of an API key must have 1 to 100 characters, without control characters'
    )
  }
  const apiKey = randomApiKey()
  const values = [
    name,
    displayPrefixOf(apiKey),
    sha256Bytea(apiKey),
    lifetime,
    scopes
  ]
  await change(connection, createApiKeySql, values)

  return apiKey
}

/** @throws Error when there is no such API key, or it has been revoked */
export async function revokeApiKey(
  connection: ClientBase,
  id: string
): Promise<void> {
  if ((await change(connection, revokeApiKeySql, [id])) === 0)
    throw new Error(`there is no API key ${id} to revoke; see: keys list`)
}

/** Returns what `keys list` shows of all API keys, the oldest first. */
export async function listApiKeys(connection: ClientBase): Promise<object[]> {
  return (await connection.query<object[]>(listApiKeysSql)).rows
}

/** Returns how many API keys a statement has changed. */
async function change(
  connection: ClientBase,
  text: string,
  values: unknown[]
): Promise<number | null> {
  try {
    return (await connection.query(text, values)).rowCount
  } catch (cause) {
    if (consequenceOf(cause) !== 'outcomeUnknown') throw cause
    const message = 'the change may have been made; see: keys list'
    throw new Error(message, { cause })
  }
}
