import { existsSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { findServer } from '../../src/framework/embedded/server.ts'
import {
  copyData,
  createDatabase,
  temporaryFolder,
  lockAwaited,
  lockTable
} from '../support/database.ts'
import {
  createKey,
  postNote,
  serveNotes,
  storedNotes
} from '../support/notes.ts'
import { run, started } from '../support/process.ts'
import { startClients } from '../support/resend.ts'
import { until } from '../support/until.ts'

/** Starts a service process on a database of its own, with an API key. */
async function serveOnDatabase(t: Test, env: Record<string, string>) {
  const databaseUrl = await createDatabase(t)
  const key = await createKey(t, databaseUrl)
  const service = serveNotes(t, { DATABASE_URL: databaseUrl, ...env })
  return { service, key, url: await started(service), databaseUrl }
}

t.test('after a signal to npm, an open request gets its 200', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  const env = { PORT: '0', DATA_DIR: directory }
  const service = run(t, ['npm', 'start'], { env })
  const [, url = '', authorization = ''] = await service.sees(
    /curl (\S+) -H 'Authorization: (Bearer \w+)'/
  )
  const databaseUrl = (await findServer(directory)) ?? ''
  const { release } = await lockTable(t, databaseUrl, 'api_keys')
  const response = fetch(url, { headers: { authorization } })
  await lockAwaited(databaseUrl)

  service.child.kill()
  await service.sees(/"stopping"/)
  await release()

  t.equal((await response).status, 200)
  await service.exited
  t.match(service.output(), '"stopped"')
})

t.test('a request that outlasts SHUTDOWN_TIMEOUT_MS is cut off', async (t) => {
  const { service, key, url, databaseUrl } = await serveOnDatabase(t, {
    SHUTDOWN_TIMEOUT_MS: '500'
  })
  const { release } = await lockTable(t, databaseUrl, 'notes')
  const isCutOff = t.rejects(postNote(url, key, 'late'))
  await lockAwaited(databaseUrl)

  // These two count as one.
  service.child.kill('SIGINT')
  service.child.kill()
  await isCutOff
  await release()
  t.equal(await service.exited, 0)
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
    const { headers } = await fetch(`${url}/readyz`)
    t.equal(headers.get('connection'), 'close')
    t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
    t.same(clients.failures, {})

    // Another signal, more than a second later, ends it immediately.
    const signals = setInterval(() => service.child.kill(), 1100)
    t.equal(await service.exited, 'SIGTERM')
    clearInterval(signals)
  }
)

t.test('a signal ends a first start', async (t) => {
  const directory = path.join(temporaryFolder(t), 'data')
  const service = serveNotes(t, { DATA_DIR: directory })
  await until(() => existsSync(directory), 'the database is created')
  t.equal(await service.stop(), 0)
})

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
