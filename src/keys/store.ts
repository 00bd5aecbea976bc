import type { Database } from '../database/database.ts'

/** An API key as an operator sees it. */
export interface KeyRecord {
  id: bigint
  name: string
  created_at: Date
  revoked_at: Date | null
}

/** The API keys in Postgres, known by their hashes (hexadecimal). Each method fails as `Database` does. */
export interface KeyStore {
  create(name: string, hash: string): Promise<void>
  /** All keys, oldest first, the revoked ones too. */
  list(): Promise<KeyRecord[]>
  /** Ends a key; false when there is none of that id that is still valid. */
  revoke(id: bigint): Promise<boolean>
  /** The ids of the valid keys among the hashes: in the place of each its key's id, or undefined. */
  findValid(hashes: string[]): Promise<(bigint | undefined)[]>
}

export function keyStore(database: Database): KeyStore {
  return {
    async create(name, hash) {
      await database.write({
        text: 'INSERT INTO api_keys (name, hash) VALUES ($1, $2)',
        values: [name, Buffer.from(hash, 'hex')]
      })
    },
    list: () => database.read<KeyRecord>({ text: 'SELECT id, name, created_at, revoked_at FROM api_keys ORDER BY id' }),
    async revoke(id) {
      const revoked = await database.write({
        text: 'UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id',
        values: [id]
      })
      return revoked.length > 0
    },
    async findValid(hashes) {
      const rows = await database.read<{ id: bigint; hash: Buffer }>({
        name: 'find-valid-keys',
        text: 'SELECT id, hash FROM api_keys WHERE hash = ANY($1) AND revoked_at IS NULL',
        values: [hashes.map((hash) => Buffer.from(hash, 'hex'))]
      })
      const ids = new Map(rows.map(({ id, hash }) => [hash.toString('hex'), id]))
      return hashes.map((hash) => ids.get(hash))
    }
  }
}
