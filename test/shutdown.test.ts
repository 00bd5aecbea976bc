import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../src/postgres/embedded/embedded.ts'
import { migrationLock } from '../src/postgres/migrations.ts'
import { findRunning } from './support/running.ts'
import { createDatabase, lockAwaited, lockTable, silent } from './support/database.ts'
import { startLoad } from './support/load.ts'
import { keyPattern, post, run, type Running, script, serve, started } from './support/process.ts'

t.test('a signal lets a request in flight end, and a second one long after ends the service at once', async (t) => {
  const databaseUrl = await createDatabase(t)
  const env = { DATABASE_URL: databaseUrl }
  const made = run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', 'x'], { env })
  await made.exited
  const key = made.output().trim()
  const service = serve(t, env)
  const url = await started(service)
  const lock = await lockTable(t, databaseUrl, 'categories')
  const created = post(url, key, 'in flight')
  await lockAwaited(databaseUrl)
  service.child.kill('SIGTERM')
  service.child.kill('SIGINT')
  await service.sees(/stopping/)
  await lock.release()
  t.equal((await created).status, 201)
  t.equal(await service.exited, 0)

  /** A service that was told to stop while a request waits for a lock that is not released; and that lock. */
  const stuck = async (shutdownTimeout: string) => {
    const service = serve(t, { ...env, DATABASE_TIMEOUT: '60000', SHUTDOWN_TIMEOUT: shutdownTimeout })
    const url = await started(service)
    const lock = await lockTable(t, databaseUrl, 'categories')
    post(url, key, 'never').catch(() => {})
    await lockAwaited(databaseUrl)
    service.child.kill('SIGTERM')
    await service.sees(/stopping/)
    return { service, lock }
  }
  const patient = await stuck('60000')
  const signals = setInterval(() => patient.service.child.kill('SIGTERM'), 1100)
  t.equal(await patient.service.exited, 1)
  clearInterval(signals)
  t.match(patient.service.output(), 'stopped at once by a second signal')
  await patient.lock.release()

  const hasty = await stuck('100')
  t.equal(await hasty.service.exited, 1)
  t.match(hasty.service.output(), 'shutdown took longer than SHUTDOWN_TIMEOUT')
})

t.test('the embedded database is there until the request in flight has its response', async (t) => {
  const directory = t.testdir()
  const service = serve(t, {}, directory)
  const url = await started(service)
  const [key] = await service.sees(keyPattern)
  const databaseUrl = (await findRunning(path.join(directory, '.data'))) ?? ''
  const lock = await lockTable(t, databaseUrl, 'categories')
  const created = post(url, key, 'in flight')
  await lockAwaited(databaseUrl)
  service.child.kill('SIGTERM')
  await service.sees(/"stopping"/)
  await lock.release()
  t.equal((await created).status, 201)
  t.equal(await service.exited, 0)
})

t.test('a signal to npm, or to its whole group, stops the service in order', async (t) => {
  for (const target of ['npm', 'group']) {
    const service = run(t, ['npm', 'start'], {
      env: { PORT: '0', DATA_DIR: path.join(t.testdir(), target) }
    })
    await started(service)
    const pid = service.child.pid ?? 0
    process.kill(target === 'group' ? -pid : pid, target === 'group' ? 'SIGINT' : 'SIGTERM')
    await service.exited
    t.match(service.output(), '"stopped"', target)
  }
})

/** A service on a database of its own, with a key. */
async function serveGiven(t: Test, env: Record<string, string>) {
  const given = { DATABASE_URL: await createDatabase(t), ...env }
  const made = run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', 'x'], { env: given })
  await made.exited
  const service = serve(t, given)
  return { service, key: made.output().trim(), url: await started(service) }
}

t.test('at shutdown under load readiness ends first, each answer ends its connection, and none is lost', async (t) => {
  const { service, key, url } = await serveGiven(t, { SHUTDOWN_DELAY: '5000', RATE_LIMIT_MAX: '0' })
  const load = startLoad(url, key)
  await load.acknowledges(100)
  service.child.kill('SIGTERM')
  // As a proxy does, which looks at /readyz and lets go.
  while ((await fetch(`${url}/readyz`)).status === 200);
  await load.acknowledges(100)
  const answer = await post(url, key, 'x')
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('connection'), 'close')
  await load.stop()
  t.same(load.lost, [])
  t.same(Object.keys(load.answers), ['201'])
  t.equal(await service.exited, 0)
  t.notMatch(service.output(), /took longer/)
})

t.test('clients that keep their connections, send halves or do not read cannot make a stop late or fail', async (t) => {
  const { service, key, url } = await serveGiven(t, { SHUTDOWN_TIMEOUT: '2000', METRICS_PORT: '0' })
  const [, metrics = ''] = await service.sees(/metrics at (http:\/\/[^/]+)/)
  const head = (method: string) => `${method} /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  const sent = [
    '',
    'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /livez HTTP/1.1\r\nHost',
    `${head('POST')}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    `${head('GET')}\r\n`.repeat(1000),
    'GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100)
  ]
  for (const { port } of [new URL(url), new URL(metrics)]) {
    for (const text of sent) {
      const socket = connect(Number(port), '127.0.0.1').pause()
      t.teardown(() => socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(text)
    }
  }
  t.equal((await post(url, key, 'x')).status, 201)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0, 'it ended by itself')
  t.match(service.output(), 'closing connections at SHUTDOWN_TIMEOUT')
})

t.test('a signal during the start ends it in order, whatever it waits for, and leaves nothing', async (t) => {
  const stopped = async (service: Running) => {
    service.child.kill('SIGTERM')
    t.equal(await service.exited, 0, service.output())
  }
  const directory = t.testdir()
  const creating = serve(t, {}, directory)
  await creating.sees(/creating a new database/)
  await stopped(creating)
  t.same(readdirSync(path.join(directory, '.data')), [])

  const embedded = await startEmbeddedPostgres(path.join(directory, '.data'), silent, { startedBy: 'command' })
  t.teardown(() => embedded.stop())
  const waiting = serve(t, {}, directory)
  await waiting.sees(/waiting for another process/)
  await stopped(waiting)

  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`SELECT pg_advisory_lock(${migrationLock})`)
  const migrating = serve(t, { DATABASE_URL: databaseUrl })
  await started(migrating)
  await lockAwaited(databaseUrl)
  await stopped(migrating)
})
