import { type Database, isoTime } from '../postgres/database.ts'

/** An API key as an operator sees it. Times are RFC 3339 text to the millisecond, `last_used_at` to the minute. */
export interface KeyRecord {
  id: bigint
  name: string
  /** The first characters of the key; empty for keys made before they were kept. */
  prefix: string
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  revoked_at: string | null
  /** The key that a rotation made in place of this one. */
  replaced_by: bigint | null
  state: KeyState
}

export type KeyState = 'valid' | 'revoked' | 'expired'

/** Something that was done to a key. */
export interface KeyEvent {
  at: string
  key_id: bigint
  name: string
  event: 'created' | 'rotated' | 'revoked'
  command: string
}

export interface NewKey {
  name: string
  prefix: string
  hash: string
  /** Seconds until it expires; never, when undefined. */
  lifetime?: number | undefined
}

/**
 * The API keys in Postgres, known by their hashes (hexadecimal). What changes a key leaves a trace of the command that did
 * it, and tells every replica, in the same commit. Each method fails as `Database` does.
 */
export interface KeyStore {
  create(key: NewKey, command: string): Promise<void>
  /** All keys, oldest first, those that have ended too. */
  list(): Promise<KeyRecord[]>
  /** All that was done to keys, oldest first. */
  events(): Promise<KeyEvent[]>
  /**
   * Replaces the valid key `id`: stores its successor, which has its name, and its lifetime unless the successor is given another.
   * The old key expires after `overlap` seconds at the latest.
   *
   * @returns false when there is no valid key of that id, or a successor has replaced it already
   */
  rotate(id: bigint, key: Omit<NewKey, 'name'>, overlap: number, command: string): Promise<boolean>
  /** Ends a key; false when there is no valid key of that id. */
  revoke(id: bigint, command: string): Promise<boolean>
  /** The keys with the hashes: in the place of each its key, or undefined. */
  find(hashes: string[]): Promise<(FoundKey | undefined)[]>
  /** Records that the keys were used in this minute, in the background. Skips a key that is locked by another session. */
  noteUse(ids: bigint[]): Promise<void>
}

export interface FoundKey {
  id: bigint
  state: KeyState
}

export const keyPrivileges = { api_keys: 'SELECT, INSERT, UPDATE', key_events: 'SELECT, INSERT' }

/** The channel on which Postgres tells that a key has changed. */
export const keyChannel = 'api_keys'

const stateOf = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= now() THEN 'expired' ELSE 'valid' END`
const isValid = `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

/** Ends a statement that changes keys: `changed` has their ids. */
const trace = (event: KeyEvent['event'], command: string) =>
  `INSERT INTO key_events (key_id, event, command) SELECT id, '${event}', ${command} FROM changed
   RETURNING pg_notify('${keyChannel}', '')`

export function keyStore(database: Database): KeyStore {
  return {
    async create({ name, prefix, hash, lifetime }, command) {
      await database.write({
        text: `WITH changed AS (
            INSERT INTO api_keys (name, prefix, hash, expires_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))
            RETURNING id
          ) ${trace('created', '$5')}`,
        values: [name, prefix, Buffer.from(hash, 'hex'), lifetime ?? null, command]
      })
    },
    list: () =>
      database.read<KeyRecord>({
        // Uses are recorded to the minute: without greatest(), the first one could lie before the creation.
        text: `SELECT id, name, prefix, ${isoTime('created_at')} AS created_at,
            CASE WHEN last_used_at IS NOT NULL THEN ${isoTime('greatest(last_used_at, created_at)')} END AS last_used_at,
            ${isoTime('expires_at')} AS expires_at, ${isoTime('revoked_at')} AS revoked_at, replaced_by, ${stateOf} AS state
          FROM api_keys ORDER BY id`
      }),
    events: () =>
      database.read<KeyEvent>({
        text: `SELECT ${isoTime('at')} AS at, key_id, name, event, command FROM key_events JOIN api_keys ON api_keys.id = key_id
          ORDER BY key_events.id`
      }),
    async rotate(id, { prefix, hash, lifetime }, overlap, command) {
      const traces = await database.write({
        // The lock decides between concurrent rotations: the second one waits, and then sees replaced_by. Until it is replaced, a key
        // has the expiry that it was created with.
        text: `WITH old AS (
            SELECT id, name, expires_at - created_at AS lifetime FROM api_keys
            WHERE id = $1 AND ${isValid} AND replaced_by IS NULL FOR UPDATE
          ), successor AS (
            INSERT INTO api_keys (name, prefix, hash, expires_at)
            SELECT name, $2, $3, now() + coalesce(make_interval(secs => $4), lifetime) FROM old RETURNING id
          ), made AS (
            INSERT INTO key_events (key_id, event, command) SELECT id, 'created', $6 FROM successor
          ), changed AS (
            UPDATE api_keys SET expires_at = least(expires_at, now() + make_interval(secs => $5)), replaced_by = successor.id
            FROM successor WHERE api_keys.id = $1 RETURNING api_keys.id
          ) ${trace('rotated', '$6')}`,
        values: [id, prefix, Buffer.from(hash, 'hex'), lifetime ?? null, overlap, command]
      })
      return traces.length > 0
    },
    async revoke(id, command) {
      const traces = await database.write({
        text: `WITH changed AS (
            UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND ${isValid} RETURNING id
          ) ${trace('revoked', '$2')}`,
        values: [id, command]
      })
      return traces.length > 0
    },
    async find(hashes) {
      const rows = await database.read<FoundKey & { hash: string }>({
        name: 'find-keys',
        text: `SELECT id, encode(hash, 'hex') AS hash, ${stateOf} AS state FROM api_keys WHERE hash = ANY($1)`,
        values: [hashes.map((hash) => Buffer.from(hash, 'hex'))]
      })
      const found = new Map(rows.map(({ id, state, hash }) => [hash, { id, state }]))
      return hashes.map((hash) => found.get(hash))
    },
    noteUse: (ids) =>
      database.writeInBackground({
        name: 'note-use-of-keys',
        text: `UPDATE api_keys SET last_used_at = date_trunc('minute', now()) WHERE id IN (
            SELECT id FROM api_keys WHERE id = ANY($1) AND last_used_at IS DISTINCT FROM date_trunc('minute', now())
            FOR NO KEY UPDATE SKIP LOCKED
          )`,
        values: [ids]
      })
  }
}
