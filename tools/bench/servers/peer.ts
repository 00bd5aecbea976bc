import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import pg from 'pg'
import { createLogger } from '../../../src/log.ts'

const { DATABASE_URL, PORT, HOST = '127.0.0.1', BENCH_KEY = '' } = process.env
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64')
const keyHash = sha256(BENCH_KEY)
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })

/** What the peers share: the logger of this service, a key check without a look-up, one query per request. */
export const peer = {
  port: Number(PORT),
  host: HOST,
  logger: createLogger('info'),
  isValidKey: (key: string) => sha256(key) === keyHash,
  log(method: string, path: string, { statusCode: status }: ServerResponse, startedAt: number) {
    peer.logger.info({ method, path, status, ms: performance.now() - startedAt }, 'request')
  },
  async list() {
    const { rows } = await pool.query<object>('SELECT id, name, description FROM categories ORDER BY id')
    return rows
  },
  async create({ name, description }: { name: string; description?: string }) {
    const { rows } = await pool.query<object>(
      'INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING id, name, description',
      [name, description]
    )
    return rows[0]
  }
}
