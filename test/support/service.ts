import type { Logger } from 'pino'
import type { Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import {
  createApiKey,
  type ApiKeyOptions
} from '../../src/api-keys/manage-api-keys.ts'
import { Metrics } from '../../src/metrics.ts'
import { readApiDocument } from '../../src/openapi/document.ts'
import { Database } from '../../src/postgres/database.ts'
import { makeCheckReady } from '../../src/postgres/readiness.ts'
import { connect, createDatabase, testLog } from './database.ts'
import { bearer } from './requests.ts'

/** A service in this process, with its API key. */
export type Service = Awaited<ReturnType<typeof startService>>

/** What a test wants other than by default. */
interface Options {
  config?: Partial<Config>
  databaseUrl?: string
  log?: Logger
}

const apiDocument = readApiDocument()

/** A fast machine would exceed the default limit. */
const unlimited = { MAX_REQUESTS_PER_MINUTE: 0 }

/**
 * Starts the service on a new database and a free port, with one API key and no
 * rate limits; stopped when the test ends.
 */
export async function startService(t: Test, options: Options = {}) {
  const { log = testLog } = options
  const databaseUrl = options.databaseUrl ?? (await createDatabase(t))
  // So each statement proves that its privilege is granted.
  const url = new URL(databaseUrl)
  url.username = 'pet_categories_service'
  const config = {
    ...loadConfig({ DATABASE_URL: url.href }),
    ...unlimited,
    ...options.config
  }
  const metrics = new Metrics()
  const database = new Database(config.DATABASE_URL, config, log, metrics)
  const app = await createApp({
    config,
    apiDocument,
    database,
    metrics,
    checkReady: makeCheckReady(database),
    log
  })
  // Before the database is dropped: tap runs the newest teardown first.
  t.teardown(async () => {
    await app.close()
    await database.close()
  })

  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const connection = await connect(t, databaseUrl)
  const apiKey = await createApiKey(connection, 'test')

  return {
    app,
    /** Where it listens, without a slash at the end. */
    url: origin,
    port: Number(new URL(origin).port),
    databaseUrl,
    database,
    connection,
    createApiKey: (name: string, limits?: ApiKeyOptions) =>
      createApiKey(connection, name, limits),
    apiKey,
    /** The headers of an accepted request. */
    auth: bearer(apiKey)
  }
}
