import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import pg from 'pg'
import { apiKeyPrefix } from '../../../generated/names.ts'
import { createLogger } from '../../../src/framework/log.ts'

const { DATABASE_URL, PORT, HOST = '127.0.0.1', BENCH_KEY = '' } = process.env
const sha256 = (text: string) =>
  createHash('sha256').update(text).digest('base64')
const keyHash = sha256(BENCH_KEY)
const petColumns = 'id, name, category_id AS "categoryId", status'
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })

/** The cursor is that of the service: an id in base64url. */
const idOf = (cursor = '') =>
  Number(Buffer.from(cursor, 'base64url').toString())

function linkAfter(id: string, limit: number, status: string | undefined) {
  const query = new URLSearchParams({ limit: String(limit) })
  if (status) query.append('status', status)
  query.append('cursor', Buffer.from(id).toString('base64url'))

  return `<?${query.toString()}>; rel="next"`
}

/**
 * What the peers share: the logger of this service, a key check without a
 * look-up, one query per request.
 */
export const peer = {
  port: Number(PORT),
  host: HOST,
  logger: createLogger('info', apiKeyPrefix),
  isValidKey: (key: string) => sha256(key) === keyHash,
  log(
    method: string,
    path: string,
    { statusCode: status }: ServerResponse,
    startedAt: number
  ) {
    peer.logger.info(
      { method, path, status, ms: performance.now() - startedAt },
      'request'
    )
  },
  async list() {
    const { rows } = await pool.query<object>(
      'SELECT id, name, description FROM categories ORDER BY id'
    )
    return rows
  },
  async create({ name, description }: { name: string; description?: string }) {
    const { rows } = await pool.query<object>(
      'INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING id, name, description',
      [name, description]
    )

    return rows[0]
  },
  async listPets({
    limit,
    status,
    cursor
  }: {
    limit: number
    status?: string
    cursor?: string
  }) {
    const { rows } = await pool.query<{ id: string }>(
      `SELECT ${petColumns} FROM pets WHERE id > $1 ${status ? 'AND status = $3' : ''} ORDER BY id LIMIT $2`,
      [idOf(cursor), limit + 1, ...(status ? [status] : [])]
    )
    const pets = rows.slice(0, limit)
    const last = rows.length > limit ? pets.at(-1) : undefined

    return { pets, link: last && linkAfter(last.id, limit, status) }
  },
  async getPet(id: number) {
    const { rows } = await pool.query<object>(
      `SELECT ${petColumns} FROM pets WHERE id = $1`,
      [id]
    )

    return rows[0]
  },
  async createPet({
    name,
    categoryId,
    status
  }: {
    name: string
    categoryId: number
    status: string
  }) {
    const { rows } = await pool.query<object>(
      `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${petColumns}`,
      [name, categoryId, status]
    )

    return rows[0]
  }
}
