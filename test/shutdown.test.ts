import { readdirSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { findService } from '../src/postgres/embedded.ts'
import { migrationLock } from '../src/postgres/migrations.ts'
import { copyData, createDatabase, lockAwaited, lockTable } from './support/database.ts'
import { startLoad } from './support/load.ts'
import { keyPattern, post, run, serve, started } from './support/process.ts'
import { createKeyIn } from './support/service.ts'
import { until } from './support/until.ts'

/** Starts a service process on a given database, with a key. */
async function serveGiven(t: Test, env: Record<string, string>) {
  const databaseUrl = await createDatabase(t)
  const key = await createKeyIn(databaseUrl)
  const service = serve(t, { DATABASE_URL: databaseUrl, ...env })
  const url = await started(service)
  /** Sends a create, which waits for a lock, and then SIGTERM. */
  const stopWhileCreating = async () => {
    const lock = await lockTable(t, databaseUrl, 'categories')
    const created = post(url, key, 'in flight')
    created.catch(() => {})
    await lockAwaited(databaseUrl)
    service.child.kill('SIGTERM')
    await service.sees(/stopping/)
    return { lock, created }
  }
  return { service, key, url, stopWhileCreating }
}

t.test('a signal lets a request in flight finish, and a second signal at once counts as the same', async (t) => {
  const { service, stopWhileCreating } = await serveGiven(t, {})
  const { lock, created } = await stopWhileCreating()
  service.child.kill('SIGINT')
  await lock.release()
  t.equal((await created).status, 201)
  t.equal(await service.exited, 0)
})

t.test('a second signal a second later stops the service immediately', async (t) => {
  const { service, stopWhileCreating } = await serveGiven(t, { DATABASE_TIMEOUT: '60000', SHUTDOWN_TIMEOUT: '60000' })
  await stopWhileCreating()
  const signals = setInterval(() => service.child.kill('SIGTERM'), 1100)
  t.equal(await service.exited, 'SIGTERM')
  clearInterval(signals)
})

t.test('a signal to npm or its group lets a request on the embedded database finish', async (t) => {
  for (const target of ['npm', 'group']) {
    const directory = path.join(t.testdir(), target)
    copyData(directory)
    const service = run(t, ['npm', 'start'], { env: { PORT: '0', DATA_DIR: directory } })
    const url = await started(service)
    const [key] = await service.sees(keyPattern)
    const databaseUrl = (await findService(directory))?.url ?? ''
    const lock = await lockTable(t, databaseUrl, 'categories')
    const created = post(url, key, 'in flight')
    await lockAwaited(databaseUrl)
    const pid = service.child.pid ?? 0
    process.kill(target === 'group' ? -pid : pid, target === 'group' ? 'SIGINT' : 'SIGTERM')
    await service.sees(/"stopping"/)
    await lock.release()
    t.equal((await created).status, 201)
    await service.exited
    t.match(service.output(), '"stopped"', target)
  }
})

t.test(
  'at shutdown under load readiness ends first, responses close their connections, and none is lost',
  async (t) => {
    const { service, key, url } = await serveGiven(t, { SHUTDOWN_DELAY: '5000', RATE_LIMIT_MAX: '0' })
    const load = startLoad(url, key)
    await load.acknowledges(100)
    service.child.kill('SIGTERM')
    // A proxy looks at /readyz and sends no more.
    await until(async () => (await fetch(`${url}/readyz`)).status === 503, 'the service reports that it stops')
    await load.acknowledges(100)
    const response = await post(url, key, 'x')
    t.equal(response.status, 201)
    t.equal(response.headers.get('connection'), 'close')
    await load.stop()
    t.same(load.lost, [])
    t.same(Object.keys(load.answers), ['201'])
    t.equal(await service.exited, 0)
  }
)

t.test('a signal during the first start ends it, and the next start is not affected', async (t) => {
  const directory = t.testdir()
  for (const isLast of [false, true]) {
    const service = serve(t, {}, directory)
    await service.sees(isLast ? /This key is shown once/ : /creating a new database/)
    service.child.kill('SIGTERM')
    t.equal(await service.exited, 0)
  }
  t.same(readdirSync(path.join(directory, '.data')), ['postgres'])
})

t.test('a signal ends the wait for another migration', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`SELECT pg_advisory_lock(${migrationLock})`)
  const service = serve(t, { DATABASE_URL: databaseUrl })
  await started(service)
  await lockAwaited(databaseUrl)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})
