import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { findServer } from '../../src/framework/embedded/server.ts'
import {
  copyData,
  createDatabase,
  temporaryFolder,
  lockAwaited,
  lockTable,
  query
} from '../support/database.ts'
import {
  createKey,
  postNote,
  serveNotes,
  storedNotes
} from '../support/notes.ts'
import { keyPattern, run, type Running, started } from '../support/process.ts'
import { startClients } from '../support/resend.ts'
import { until } from '../support/until.ts'

/** Starts a service process on a database of its own, with an API key. */
async function serveOnDatabase(t: Test, env: Record<string, string>) {
  const databaseUrl = await createDatabase(t)
  const key = await createKey(t, databaseUrl)
  const service = serveNotes(t, { DATABASE_URL: databaseUrl, ...env })
  return { service, key, url: await started(service), databaseUrl }
}

/** A running service, and a request that waits while a table is locked. */
interface OpenRequest {
  service: Running
  databaseUrl: string
  table: string
  send: () => Promise<Response>
}

/**
 * Sends the request, which waits for a lock, and then the signal.
 *
 * @returns the response to come, and `release`, which ends the lock
 */
async function stopWhileOpen(
  t: Test,
  { service, databaseUrl, table, send }: OpenRequest,
  sendSignal: () => unknown
) {
  const { release } = await lockTable(t, databaseUrl, table)
  const response = send()
  response.catch(() => {})
  await lockAwaited(databaseUrl)

  sendSignal()
  await service.sees(/"stopping"/)

  return { release, response }
}

/** Makes the creation of a key slow. */
const slowKeys = `
  CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
  CREATE TRIGGER wait BEFORE INSERT ON api_keys
    FOR EACH ROW EXECUTE FUNCTION wait()`

t.test('after a signal to npm, an open request gets its 200', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  const env = { PORT: '0', DATA_DIR: directory }
  const service = run(t, ['npm', 'start'], { env })
  const [, url = '', authorization = ''] = await service.sees(
    /curl (\S+) -H 'Authorization: (Bearer \w+)'/
  )
  const { release, response } = await stopWhileOpen(
    t,
    {
      service,
      databaseUrl: (await findServer(directory)) ?? '',
      table: 'api_keys',
      send: () => fetch(url, { headers: { authorization } })
    },
    () => service.child.kill()
  )
  await release()

  t.equal((await response).status, 200)
  await service.exited
  t.match(service.output(), '"stopped"')
})

t.test('a request that outlasts SHUTDOWN_TIMEOUT_MS is cut off', async (t) => {
  const { url, key, ...target } = await serveOnDatabase(t, {
    SHUTDOWN_TIMEOUT_MS: '500'
  })
  const send = () => postNote(url, key, 'late')
  const { release, response } = await stopWhileOpen(
    t,
    { ...target, table: 'notes', send },
    () => {
      // These two count as one.
      target.service.child.kill('SIGINT')
      target.service.child.kill()
    }
  )
  await t.rejects(response)
  await release()
  t.equal(await target.service.exited, 0)
})

t.test('another signal a second later ends it immediately', async (t) => {
  const { url, key, ...target } = await serveOnDatabase(t, {
    DATABASE_TIMEOUT_MS: '60000',
    SHUTDOWN_TIMEOUT_MS: '60000'
  })
  const { child, exited } = target.service
  const send = () => postNote(url, key, 'in flight')
  await stopWhileOpen(t, { ...target, table: 'notes', send }, () =>
    child.kill()
  )

  const signals = setInterval(() => child.kill(), 1100)
  t.equal(await exited, 'SIGTERM')
  clearInterval(signals)
})

t.test(
  'a shutdown under load fails /readyz first, and then no request',
  async (t) => {
    const { service, key, url, databaseUrl } = await serveOnDatabase(t, {
      SHUTDOWN_DELAY_MS: '60000'
    })
    const clients = startClients([{ url, key }])
    await clients.stores(100)

    service.child.kill()
    // A proxy looks at /readyz and sends no more.
    await until(
      async () => (await fetch(`${url}/readyz`)).status === 503,
      'the service reports that it stops'
    )

    await clients.stores(20)
    const { status, headers } = await postNote(url, key, 'x')
    t.equal(status, 201)
    t.equal(headers.get('connection'), 'close')
    await query(databaseUrl, "DELETE FROM notes WHERE name = 'x'")
    t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
    t.same(clients.failures, {})
  }
)

t.test(
  'a signal during the first start ends it, and the next start is not affected',
  async (t) => {
    const directory = temporaryFolder(t)
    const data = path.join(directory, '.data')
    const first = serveNotes(t, {}, directory)
    await until(() => existsSync(data), 'the database is created')
    t.equal(await first.stop(), 0)

    const second = serveNotes(t, {}, directory)
    await second.sees(/Keys are shown once/)
    t.equal(await second.stop(), 0)
    t.same(readdirSync(data), ['postgres'])
  }
)

t.test(
  'a signal while the first key is created does not lose it',
  async (t) => {
    const directory = temporaryFolder(t)
    copyData(directory)
    const env = { DATA_DIR: directory }
    const first = serveNotes(t, env)
    await first.sees(keyPattern)
    const url = (await findServer(directory)) ?? ''
    await query(url, 'TRUNCATE api_keys, key_events')
    await query(url, slowKeys)
    t.equal(await first.stop(), 0)

    const second = serveNotes(t, env)
    await started(second)
    t.equal(await second.stop(), 0)

    t.match(second.output(), keyPattern)
  }
)

t.test(
  'a signal ends the wait for a database whose migrations are locked',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    await lockTable(t, databaseUrl, 'pgmigrations')
    const service = serveNotes(t, { DATABASE_URL: databaseUrl })
    await started(service)
    await lockAwaited(databaseUrl)
    t.equal(await service.stop(), 0)
  }
)
