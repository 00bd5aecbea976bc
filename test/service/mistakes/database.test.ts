// A DATABASE_URL, or the database behind it, that the service cannot use.
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/framework/config.ts'
import { migrateDatabase } from '../../../src/framework/open-database.ts'
import { api } from '../../../src/handlers/index.ts'
import {
  createDatabase,
  emptyLatin1,
  query,
  silent
} from '../../support/database.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { startPostgres } from '../../support/postgres.ts'
import { serve } from '../../support/process.ts'
import { noFile } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  failsToOpen,
  isOneLine,
  messageOfRejected,
  type Mistake,
  saysOnly
} from './assertions.ts'

/** Reported before a connection is made. */
const unusableUrls: Mistake[] = [
  {
    title: 'the password has a # or a /',
    env: { DATABASE_URL: 'postgres://user:se#cret@host/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode special characters of the password, and write the port as a number$/
  },
  {
    title: 'the password has a %',
    env: { DATABASE_URL: 'postgres://user:secret%ff@host/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode special characters/
  },
  {
    title: 'the port is not a number',
    env: { DATABASE_URL: 'postgres://user:secret@host:abc/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: .*the port as a number$/
  },
  {
    title: 'a certificate is missing',
    env: {
      DATABASE_URL:
        'postgres://user:secret@host/db?sslmode=verify-full&sslrootcert=/none.pem'
    },
    says: /^DATABASE_URL cannot be used: ENOENT: .* '\/none\.pem': correct sslrootcert, sslcert or sslkey$/
  }
]

for (const { title, env = {}, says } of unusableUrls)
  t.test(title, (t) => failsToOpen(t, env, says))

/** Asserts that migrating fails with one line. */
async function failsToMigrate(
  t: Test,
  env: Record<string, string>,
  says: string | RegExp
) {
  const migrating = migrateDatabase(loadConfig(env, noFile), api, silent)
  isOneLine(t, [await messageOfRejected(migrating)], says)
}

const unreachableServers: Mistake[] = [
  {
    title: 'the port is wrong',
    env: { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' },
    says: /^DATABASE_URL cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/
  },
  {
    title: 'the host is wrong',
    env: { DATABASE_URL: 'postgres://user:secret@db.invalid/x' },
    says: /^DATABASE_URL cannot be used: getaddrinfo E\w+ db\.invalid: correct its host or port/
  }
]

/** A server on which all but the superuser need their password. */
const serverWithPasswords = await startPostgres(
  t,
  {},
  {
    'pg_hba.conf':
      'host all postgres all trust\nhost all all all scram-sha-256\n'
  }
)
await query(serverWithPasswords.url, "CREATE ROLE app LOGIN PASSWORD 'secret'")
await query(serverWithPasswords.url, 'CREATE DATABASE others')

/** The URL of a database of the superuser on this server. */
function urlFor(credentials: string, database = 'others'): string {
  const { host } = new URL(serverWithPasswords.url)
  return `postgres://${credentials}@${host}/${database}`
}

const rejectedLogins: Mistake[] = [
  {
    title: 'the password is wrong',
    env: { DATABASE_URL: urlFor('app:secret2') },
    says: /^DATABASE_URL cannot be used: password authentication failed for user "app": correct its user or password$/
  },
  {
    title: 'the user is wrong',
    env: { DATABASE_URL: urlFor('nobody:secret') },
    says: /^DATABASE_URL cannot be used: password authentication failed for user "nobody": correct its user or password$/
  },
  {
    title: 'the database is wrong',
    env: { DATABASE_URL: urlFor('app:secret', 'none') },
    says: /^DATABASE_URL cannot be used: database "none" does not exist: create it, or correct its name$/
  },
  {
    title: 'the password is missing',
    env: { DATABASE_URL: urlFor('app') },
    says: /^DATABASE_URL cannot be used: it has no password, and the server asks for one: write postgres:\/\/USER:PASSWORD@HOST$/
  }
]

const unusableRoles: Mistake[] = [
  {
    title: 'the role may not create tables',
    env: { DATABASE_URL: urlFor('app:secret') },
    says: /^DATABASE_URL cannot be used: permission denied for schema public: grant its user CREATE on the schema, or run `npm run migrate` as another user$/
  },
  {
    title: 'DATABASE_SERVICE_ROLE does not exist',
    env: {
      DATABASE_URL: await createDatabase(t),
      DATABASE_SERVICE_ROLE: 'nope'
    },
    says: /^DATABASE_SERVICE_ROLE cannot be used: role "nope" does not exist: create it, or correct its name$/
  }
]

const mistakesOfMigrate = [
  ...unreachableServers,
  ...rejectedLogins,
  ...unusableRoles
]

for (const { title, env = {}, says } of mistakesOfMigrate)
  t.test(title, (t) => failsToMigrate(t, env, says))

t.test('the database has another encoding', async (t) => {
  const DATABASE_URL = await createDatabase(t, emptyLatin1)
  await failsToMigrate(
    t,
    { DATABASE_URL },
    /^the database cannot be used: it must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'$/
  )
})

t.test('the database is empty, and not to be migrated', async (t) => {
  const DATABASE_URL = await createDatabase(t, 'TEMPLATE template0')
  await failsToOpen(
    t,
    { DATABASE_URL },
    /^the database cannot be used: migrations are pending \(0002_.*\): run `npm run migrate`$/
  )
})

/** A server that is not PostgreSQL. `connections` counts the attempts. */
async function startHttpServer(t: Test) {
  const attempts = { connections: 0 }
  const server = createServer()
  server.on('connection', () => attempts.connections++)
  const port = await listenOnLoopback(t, server)

  return { attempts, port }
}

t.test(
  'a server that is not PostgreSQL is reported once, however often it is tried',
  async (t) => {
    const { attempts, port } = await startHttpServer(t)
    const DATABASE_URL = `postgres://user:secret@127.0.0.1:${port}/x`
    const service = serve(t, { DATABASE_URL })
    await service.sees(/; retrying every second/)

    const { connections } = attempts
    const isTriedAgain = () => attempts.connections >= connections + 3
    await until(isTriedAgain, 'the server is tried again')
    await service.stop()

    saysOnly(
      t,
      service.output(),
      /^DATABASE_URL cannot be used: Connection terminated unexpectedly: correct its host or port, or start PostgreSQL there; retrying every second$/
    )
  }
)
