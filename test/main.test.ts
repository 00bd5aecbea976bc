import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import { makeKey } from '../src/keys/key.ts'
import { createDatabase, lockAwaited, lockTable, query } from './support/database.ts'
import { startLoad } from './support/load.ts'
import { run, type Running, script } from './support/process.ts'

const listening = /Server listening at (http:\/\/127\.0\.0\.1:\d+)/
const keyPattern = /petcat_[0-9a-f]{48}/

/** Starts the service as a process of its own, in an empty folder, on a free port. */
function serve(t: Test, env: Record<string, string>, directory = t.testdir()): Running {
  return run(t, script('src/main.ts'), { cwd: directory, env: { PORT: '0', ...env } })
}

async function started(service: Running): Promise<string> {
  const [, url = ''] = await service.sees(listening)
  return url
}

/** Resolves when the service has migrated a given database, which it does after it listens. */
async function ready(url: string): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 200);
}

const post = (url: string, key: string, name: string) =>
  fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name })
  })

const list = async (url: string, key: string) =>
  (await (await fetch(`${url}/v1/categories`, { headers: { authorization: `Bearer ${key}` } })).json()) as {
    name: string
  }[]

t.test('the first start prints the docs and a curl with a key; what was acknowledged survives a kill -9', async (t) => {
  const directory = t.testdir()
  const first = serve(t, {}, directory)
  const url = await started(first)
  const [curl, key = ''] = await first.sees(/curl \S+ -H 'Authorization: Bearer (petcat_\w+)'/)
  t.match(curl, `curl ${url}/v1/categories -H`)
  t.match(first.output(), `Docs    ${url}/docs`)

  const acknowledged: string[] = []
  const creating = (async () => {
    for (let n = 0; ; n++) {
      const response = await post(url, key, `category ${n}`)
      if (response.status === 201) acknowledged.push(`category ${n}`)
      if (n === 20) first.child.kill('SIGKILL')
    }
  })()
  await t.rejects(creating)
  t.equal(await first.exited, 'SIGKILL')

  const second = serve(t, {}, directory)
  const secondUrl = await started(second)
  await second.sees(/npm run keys/)
  t.notMatch(second.output(), keyPattern, 'the key is not shown again, and no other is made')
  const names = (await list(secondUrl, key)).map(({ name }) => name)
  t.same(
    acknowledged.filter((name) => !names.includes(name)),
    []
  )
  second.child.kill('SIGTERM')
  t.equal(await second.exited, 0)
})

t.test('a service on any address shows one that can be opened', async (t) => {
  const service = serve(t, { HOST: '0.0.0.0' })
  await service.sees(/Docs {4}http:\/\/localhost:\d+\/docs/)
  await service.sees(keyPattern)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})

t.test('a second service on the same folder stops with a clear message', async (t) => {
  const directory = t.testdir()
  const first = serve(t, {}, directory)
  await started(first)
  const second = serve(t, {}, directory)
  t.equal(await second.exited, 1)
  t.match(second.output(), /pet-categories: Postgres did not start on .*lock file "postmaster\.pid" already exists/s)
})

t.test('keys are made, listed and revoked while the service runs and when it does not', async (t) => {
  const directory = t.testdir()
  const keys = (...args: string[]) => run(t, [...script('src/keys/cli.ts'), ...args], { cwd: directory })
  const made = keys('create', '--name', 'before')
  t.equal(await made.exited, 0)
  const before = made.output().trimEnd().split('\n').at(-1) ?? ''
  t.match(before, new RegExp(`^${keyPattern.source}$`))

  const service = serve(t, {}, directory)
  const url = await started(service)
  t.equal((await post(url, before, 'x')).status, 201)
  const during = keys('create', '--name', 'during')
  t.equal(await during.exited, 0)
  t.equal((await post(url, during.output().trim(), 'x')).status, 201)

  t.equal(await keys('revoke', '1').exited, 0)
  const revokedAt = performance.now()
  while ((await post(url, before, 'x')).status !== 401) {
    if (performance.now() - revokedAt > 10_000) throw new Error('a revoked key still works')
  }
  const listed = keys('list')
  t.equal(await listed.exited, 0)
  t.match(listed.output(), /^ID +NAME .* STATE\n1 +before .* revoked\n2 +during .* valid\n$/)
})

t.test('on a given DATABASE_URL no key is made, the log is JSON, and no key is ever in it', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const service = serve(t, { DATABASE_URL: databaseUrl, ENVIRONMENT: 'staging' })
  const url = await started(service)
  await ready(url)
  t.same(await query(databaseUrl, 'SELECT * FROM api_keys'), [])
  const made = run(t, [...script('src/keys/cli.ts'), 'create', '--name', 'x'], { env: { DATABASE_URL: databaseUrl } })
  t.equal(await made.exited, 0)
  const key = made.output().trim()
  const response = await post(url, key, 'x')
  t.equal(response.status, 201)
  t.equal((await post(url, 'petcat_wrong', 'x')).status, 401)
  service.child.kill('SIGINT')
  t.equal(await service.exited, 0)

  const lines = service
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const requests = lines.filter(({ msg }) => msg === 'request')
  t.match(requests, [
    {
      reqId: response.headers.get('x-request-id'),
      method: 'POST',
      path: '/v1/categories',
      operation: 'createCategory',
      status: 201,
      key: '1'
    },
    { status: 401, key: undefined }
  ])
  t.notMatch(service.output(), /petcat_\w/)
})

t.test('a signal lets a request in flight end, and a second one long after ends the service at once', async (t) => {
  const databaseUrl = await createDatabase(t)
  const env = { DATABASE_URL: databaseUrl }
  const made = run(t, [...script('src/keys/cli.ts'), 'create', '--name', 'x'], { env })
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

t.test('what stops the start is said in one line, and nothing is left behind', async (t) => {
  const databaseUrl = await createDatabase(t)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const fails = async (env: Record<string, string>, message: RegExp) => {
    const service = serve(t, env)
    t.equal(await service.exited, 1)
    t.match(service.output(), message)
    t.notMatch(service.output(), /^ +at /m)
  }
  await fails({ PORT: 'x' }, /^pet-categories: PORT must be an integer, not "x"\n$/)
  await fails({ DATABASE_URL: databaseUrl, PORT: String(port) }, /pet-categories: .*EADDRINUSE/)
  await fails({ PORT: String(port) }, /pet-categories: .*EADDRINUSE/)
  await fails({ DATABASE_URL_FILE: 'none' }, /DATABASE_URL_FILE must name a file that can be read/)
  const withoutCa = 'postgres://u:secret@db/x?sslmode=verify-full&sslrootcert=/none.pem'
  await fails({ DATABASE_URL: withoutCa }, /^pet-categories: DATABASE_URL cannot be used: ENOENT.*none\.pem'\n$/)
})

t.test('a database that is not there at the start is waited for', async (t) => {
  const databaseUrl = new URL(await createDatabase(t))
  const name = databaseUrl.pathname.slice(1)
  databaseUrl.pathname = `/${name}_later`
  const service = serve(t, { DATABASE_URL: databaseUrl.href })
  const url = await started(service)
  const status = async (path: string) => (await fetch(url + path)).status
  await service.sees(/the database is not ready; trying again/)
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)
  t.equal((await post(url, makeKey(), 'x')).status, 503)

  const server = new URL(databaseUrl)
  server.pathname = '/postgres'
  await query(server.href, `CREATE DATABASE ${name}_later TEMPLATE template0 ENCODING 'UTF8'`)
  t.teardown(() => query(server.href, `DROP DATABASE ${name}_later WITH (FORCE)`))
  await service.sees(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  t.equal(service.output().split('trying again').length, 2, 'said once')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)

  const waiting = serve(t, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/x' })
  await waiting.sees(/ECONNREFUSED.*trying again/)
  await started(waiting)
  waiting.child.kill('SIGTERM')
  t.equal(await waiting.exited, 0)
})

/** A service on a database of its own, with a key. */
async function serveGiven(t: Test, env: Record<string, string>) {
  const given = { DATABASE_URL: await createDatabase(t), ...env }
  const made = run(t, [...script('src/keys/cli.ts'), 'create', '--name', 'x'], { env: given })
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

t.test(
  'clients that keep their connections, send halves or do not read cannot keep the service from ending',
  async (t) => {
    const { service, key, url } = await serveGiven(t, { SHUTDOWN_TIMEOUT: '2000' })
    const { port } = new URL(url)
    const head = (method: string) => `${method} /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
    const sent = [
      '',
      'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /livez HTTP/1.1\r\nHost',
      `${head('POST')}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      `${head('GET')}\r\n`.repeat(1000)
    ]
    for (const text of sent) {
      const socket = connect(Number(port), '127.0.0.1')
      t.teardown(() => socket.destroy())
      socket.on('error', () => {})
      socket.pause()
      await once(socket, 'connect')
      socket.write(text)
    }
    t.equal((await post(url, key, 'x')).status, 201)
    service.child.kill('SIGTERM')
    t.type(await service.exited, 'number', 'it ended by itself')
  }
)

t.test('npm run migrate brings a database up to date, and a start with MIGRATE_ON_START=false does not', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const service = serve(t, { DATABASE_URL: databaseUrl, MIGRATE_ON_START: 'false' })
  const url = await started(service)
  const ready = async () => (await fetch(`${url}/readyz`)).status
  t.equal(await ready(), 503)
  t.equal((await fetch(`${url}/livez`)).status, 200)
  const migrated = run(t, script('src/migrate.ts'), { env: { DATABASE_URL: databaseUrl } })
  t.equal(await migrated.exited, 0)
  t.match(migrated.output(), 'The database is up to date.')
  t.equal(await ready(), 200)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  const failed = run(t, script('src/migrate.ts'), { env: { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/x' } })
  t.equal(await failed.exited, 1)
})

t.test('the scripts of package.json are the commands that these tests run', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  t.match(scripts, {
    start: 'exec node --import tsx src/main.ts',
    keys: 'exec node --import tsx src/keys/cli.ts',
    migrate: 'exec node --import tsx src/migrate.ts'
  })
  t.end()
})
