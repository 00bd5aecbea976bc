import { type Database, givenRows, isoTime } from '../postgres/database.ts'
import { hashKey, type KeyCheck, makeKey, prefixOf } from './key.ts'

/** The privileges that the service's database role needs. */
export const keyPrivileges = {
  api_keys: 'SELECT, INSERT, UPDATE',
  key_events: 'SELECT, INSERT'
}

const state = `CASE WHEN id IS NULL THEN 'unknown' WHEN revoked_at IS NOT NULL THEN 'revoked'
  WHEN expires_at <= now() THEN 'expired' ELSE 'valid' END`

export type KeyStore = ReturnType<typeof keyStore>

/**
 * The API keys in PostgreSQL, which stores only their hashes. PostgreSQL reads lifetimes and overlaps as intervals.
 *
 * @param command what the audit log names as the origin of a change
 */
export function keyStore(database: Database, command = 'service') {
  /** Runs SQL that defines `changed (id, event)`, and adds these rows to the audit log in the same commit. */
  async function change(sql: string, values: unknown[]): Promise<boolean> {
    const text = `WITH ${sql} INSERT INTO key_events (key_id, event, command) SELECT id, event, $1 FROM changed RETURNING id`
    return (
      (await database.write({ text, values: [command, ...values] })).length > 0
    )
  }

  const rows = (text: string) => () =>
    database.read<Record<string, string | null>>({ text })

  return {
    /** Creates and returns a key. Without a lifetime, it is valid until it is revoked. */
    async create(name: string, lifetime?: string): Promise<string> {
      const key = makeKey()
      const sql = `changed AS (
        INSERT INTO api_keys (name, prefix, hash, expires_at)
        VALUES ($2, $3, decode($4, 'hex'), now() + $5::interval) RETURNING id, 'created' AS event
      )`
      await change(sql, [name, prefixOf(key), hashKey(key), lifetime])
      return key
    },

    /**
     * Creates and returns the successor of a valid key, by default with the lifetime that the old key was created with.
     * The old key expires after the overlap at the latest.
     *
     * @throws Error when the old key is not valid or has been replaced
     */
    async rotate(
      id: string,
      overlap: string,
      lifetime?: string
    ): Promise<string> {
      const key = makeKey()
      // A concurrent rotation waits for the lock and then sees replaced_by.
      const sql = `old AS (
        SELECT id, coalesce(root, id) AS root, name, expires_at - created_at AS lifetime FROM api_keys
        WHERE id::text = $2 AND ${state} = 'valid' AND replaced_by IS NULL FOR UPDATE
      ), successor AS (
        INSERT INTO api_keys (name, prefix, hash, expires_at, root)
        SELECT name, $3, decode($4, 'hex'), now() + coalesce($5::interval, lifetime), root FROM old RETURNING id
      ), replaced AS (
        UPDATE api_keys SET expires_at = least(expires_at, now() + $6::interval), replaced_by = successor.id
        FROM successor WHERE api_keys.id::text = $2 RETURNING api_keys.id
      ), changed AS (
        SELECT id, 'rotated' AS event FROM replaced UNION ALL SELECT id, 'created' FROM successor
      )`
      if (
        await change(sql, [id, prefixOf(key), hashKey(key), lifetime, overlap])
      )
        return key
      throw new Error(
        `Key ${id} is not valid or has been replaced; see: keys list`
      )
    },

    /** @throws Error when the key is not valid */
    async revoke(id: string): Promise<void> {
      const sql = `changed AS (
        UPDATE api_keys SET revoked_at = now() WHERE id::text = $2 AND ${state} = 'valid' RETURNING id, 'revoked' AS event
      )`
      if (!(await change(sql, [id])))
        throw new Error(`Key ${id} is not valid; see: keys list`)
    },

    /** All keys, oldest first. The time of a use is rounded down to the minute, so it can be before the creation. */
    list: rows(`
      SELECT id::text, name, prefix, ${isoTime('created_at')} AS created_at,
        CASE WHEN last_used_at IS NOT NULL THEN ${isoTime('greatest(last_used_at, created_at)')} END AS last_used_at,
        ${isoTime('expires_at')} AS expires_at, ${isoTime('revoked_at')} AS revoked_at, replaced_by::text,
        ${state} AS state FROM api_keys ORDER BY api_keys.id`),

    /** The audit log, oldest first. */
    events: rows(`
      SELECT ${isoTime('at')} AS at, key_id::text, name, event, command
      FROM key_events JOIN api_keys ON api_keys.id = key_id ORDER BY key_events.id`),

    /** Looks up keys by their hashes. The results are in the order of the hashes. */
    find: (hashes: string[]) =>
      database.read<KeyCheck>({
        name: 'find-keys',
        text: `SELECT id, coalesce(root, id) AS root, ${state} AS state, last_used_at = date_trunc('minute', now()) AS "isNoted"
          FROM ${givenRows(['text'])} AS given (hash, position)
          LEFT JOIN api_keys ON api_keys.hash = decode(given.hash, 'hex') ORDER BY position`,
        values: [hashes]
      }),

    /** Records that the keys were used in this minute. Skips keys that another session has locked. */
    noteUse: (keys: KeyCheck[]) =>
      database.writeInBackground({
        name: 'note-use-of-keys',
        text: `UPDATE api_keys SET last_used_at = date_trunc('minute', now())
          WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) FOR NO KEY UPDATE SKIP LOCKED)`,
        values: [keys.map(({ id }) => id)]
      })
  }
}
