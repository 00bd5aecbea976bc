import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import { Metrics } from '../../src/framework/metrics.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import type { Api } from '../../src/framework/api.ts'
import { buildApp } from '../../src/app.ts'
import { type Config, loadConfig } from '../../src/framework/config.ts'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { Database } from '../../src/framework/postgres/database.ts'
import {
  pendingMigrationsFinder,
  requireMigrations
} from '../../src/framework/postgres/migrate.ts'
import { api as thisApi } from '../../src/handlers/index.ts'
import { createDatabase, silent } from './database.ts'

/** Keeps the developer's `.env` out of the tests. */
export const noFile = '/dev/null'

// Each app validates its document by a schema that takes more time to compile
// than the rest of the app to build: once is enough for a process of tests.
const compiled = {}
Object.defineProperty(Validator.prototype, 'ajvValidators', {
  get: () => compiled,
  set() {}
})

/** A service in this process, with its API key. */
export type Service = Awaited<ReturnType<typeof startService>>

/** What a test wants other than by default. */
export interface ServiceOptions {
  /** By default that of this repository. */
  api?: Api
  config?: Partial<Config>
  databaseUrl?: string
  log?: Logger
}

/** A fast machine would exceed the default limit. */
const unlimited = { MAX_REQUESTS_PER_MINUTE: 0 }

/**
 * Starts the service on a new database and a free port, with one API key and no
 * rate limits; stopped when the test ends.
 */
export async function startService(t: Test, options: ServiceOptions = {}) {
  const { api = thisApi, log = silent } = options
  const databaseUrl = options.databaseUrl ?? (await createDatabase(t))
  const config = { ...loadConfig({}, noFile), ...unlimited, ...options.config }
  const metrics = new Metrics()
  const { service: serviceName } = api.names
  const database = new Database(databaseUrl, config, log, metrics, serviceName)

  const findPending = pendingMigrationsFinder(database, api.migrationsFolder)
  const apiDocument = readApiDocument(api.openapiFile)
  const app = await buildApp({
    config,
    api,
    apiDocument,
    database,
    metrics,
    checkReady: () => requireMigrations(findPending),
    log
  })
  // Before the database is dropped: tap runs the newest teardown first.
  t.teardown(async () => {
    await app.close()
    await database.close()
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const keys = new ApiKeyStore(database, api.names.apiKeyPrefix, silent)
  const key = await keys.create('test')

  return {
    app,
    /** Where it listens, without a slash at the end. */
    url,
    port: Number(new URL(url).port),
    databaseUrl,
    database,
    keys,
    key,
    /** The headers of an accepted request. */
    auth: { authorization: `Bearer ${key}` }
  }
}

/** Resolves when `count` more requests have reached their handlers. */
export function handled(t: Test, count: number): Promise<void> {
  const channel = 'tracing:fastify.request.handler:start'
  let remaining = count

  return new Promise((resolve) => {
    const countDown = () => {
      remaining--
      if (remaining === 0) resolve()
    }
    subscribe(channel, countDown)
    t.teardown(() => unsubscribe(channel, countDown))
  })
}

/**
 * Sends bytes and returns all bytes of the server until it closes the
 * connection.
 */
export function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

/** Splits a raw response into its parts; headers by name in lower case. */
export function parseRaw(response: string) {
  const [head = '', ...rest] = response.split('\r\n\r\n')
  const [, status] = / (\d+)/.exec(head) ?? []
  const fields = Array.from(
    head.matchAll(/^([\w-]+): ?(.*)/gm),
    ([, name = '', value = '']) => [name.toLowerCase(), value]
  )

  return {
    status: Number(status),
    headers: Object.fromEntries(fields) as Record<string, string>,
    body: rest.join('\r\n\r\n')
  }
}
