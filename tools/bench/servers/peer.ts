import type { ServerResponse } from 'node:http'
import pg from 'pg'
import { loadConfig } from '../../../src/config.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { keyStore } from '../../../src/api-keys/store.ts'
import { keyVerifier, refreshInterval } from '../../../src/api-keys/cache.ts'
import { createLogger } from '../../../src/log.ts'

const config = loadConfig(process.env)
const { DATABASE_URL: url = '', DATABASE_POOL_SIZE: poolSize, DATABASE_TIMEOUT: timeout } = config

const keys = keyVerifier(keyStore(openDatabase({ url, poolSize: 1, timeout }, createLogger('warn'))))
setInterval(() => void keys.refresh(), refreshInterval)

/** What the peers share with this service, so that only the way of answering differs: settings, log, key check, pool. */
export const peer = {
  config,
  logger: createLogger(config.LOG_LEVEL),
  pool: new pg.Pool({ connectionString: url, max: poolSize }),
  isValidKey: async (key: string) => (await keys.check(key)).state === 'valid',
  /** One line a request. */
  log(method: string | undefined, path: string | undefined, { statusCode: status }: ServerResponse, startedAt: number) {
    peer.logger.info({ method, path, status, ms: performance.now() - startedAt }, 'request')
  },
  list: async () => {
    const { rows } = await peer.pool.query({
      text: 'SELECT id, name, description FROM categories ORDER BY id'
    })
    return rows as object[]
  },
  create: async ({ name, description }: { name: string; description?: string }) => {
    const { rows } = await peer.pool.query({
      text: 'INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING id, name, description',
      values: [name, description]
    })
    return rows[0] as object
  }
}
