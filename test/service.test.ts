// The whole process: start, first API key, signals.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createApiKey } from '../src/api-keys/manage-api-keys.ts'
import { LoadGenerator, postCategory } from './support/load-generator.ts'
import {
  closeGates,
  connect,
  createDatabase,
  createGate,
  emptyDatabaseOptions,
  migrate,
  query,
  storedCategories,
  temporaryFolder,
  urlOf,
  waitForGateWaiters
} from './support/database.ts'
import {
  runToEnd,
  commandArgv,
  apiKeyPattern,
  spawnLauncher,
  spawnProcess,
  spawnService,
  waitForUrl
} from './support/process.ts'
import { startDatabaseProxy, unreachableUrl } from './support/proxy.ts'
import { until } from './support/until.ts'

/** A database of its own with an API key, and the variable of its URL. */
async function prepare(t: Test) {
  const DATABASE_URL = await createDatabase(t)
  const connection = await connect(t, DATABASE_URL)
  // Whatever else this machine does, no statement takes too long.
  const env = { DATABASE_URL, DATABASE_TIMEOUT_MS: '60000' }
  return { env, apiKey: await createApiKey(connection, 'x') }
}

t.test('npm start has a database, and data survive kill -9', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const first = spawnLauncher(t, { DATA_DIR })
  const url = await waitForUrl(first)
  const [apiKey = ''] = await first.waitForOutput(apiKeyPattern)
  t.match(first.output(), /^Using the embedded PostgreSQL in /)
  t.match(first.output(), `${url}/docs`)
  t.match(first.output(), `curl ${url}/v1/`)

  const targets = [{ url, apiKey }]
  const load = new LoadGenerator(t, targets)
  await load.waitForCreates(20)
  first.child.kill('SIGKILL')
  t.equal(await first.exited, 'SIGKILL')

  const second = spawnLauncher(t, { DATA_DIR })
  targets[0] = { url: await waitForUrl(second), apiKey }
  await load.waitForCreates(20)
  t.notMatch(second.output(), apiKeyPattern, 'the API key is not shown again')
  const lockFile = path.join(DATA_DIR, 'postgres/postmaster.pid')
  const lines = () => readFileSync(lockFile, 'utf8').split('\n')
  process.kill(Number(lines()[0]), 'SIGKILL')
  t.equal(await second.exited, 1)
  t.match(second.output(), 'PostgreSQL has ended')

  const third = spawnLauncher(t, { DATA_DIR })
  targets[0] = { url: await waitForUrl(third), apiKey }
  await load.waitForCreates(20)
  const server = `postgres://postgres@localhost/postgres?host=${lines()[4]}`
  t.same(await load.stop(() => storedCategories(server)), [])

  const keys = (line: string) =>
    runToEnd(t, [...commandArgv('keys'), ...line.split(' ')], {
      env: { DATA_DIR }
    })
  const { output } = await keys(
    'create --name team --expires 90d --scope pets:read --scope pets:write'
  )
  const [made = ''] = apiKeyPattern.exec(output) ?? []
  const created = await postCategory({ ...targets[0], apiKey: made }, 'x')
  t.match(await created.json(), { code: 'insufficient_scope' })
  const listed = await keys('list')
  t.match(listed.output, /team.*'pets:read pets:write'.*valid/)
  t.notMatch(listed.output, apiKeyPattern, 'an API key is shown once')
  t.equal(await third.stop(), 0)
})

t.test('a service waits for its database', async (t) => {
  const databaseUrl = await createDatabase(t, emptyDatabaseOptions)
  const name = new URL(databaseUrl).pathname.slice(1)
  const server = urlOf(databaseUrl, 'postgres')
  await query(server, `DROP DATABASE ${name}`)
  const proxy = await startDatabaseProxy(t, databaseUrl)
  proxy.state.upstreamUrl = unreachableUrl
  const service = spawnService(t, { DATABASE_URL: proxy.url })
  const url = await waitForUrl(service)
  const status = async (endpoint: string) =>
    (await fetch(url + endpoint)).status
  await service.waitForOutput(
    /waiting for the database: .*: start the database/
  )
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)

  proxy.state.upstreamUrl = databaseUrl
  await service.waitForOutput(/"[\w]+\\" does not exist: create the database/)
  await query(server, `CREATE DATABASE ${name} ${emptyDatabaseOptions}`)
  await service.waitForOutput(
    /"applied_migrations\\" does not exist: run migrate/
  )
  await migrate(databaseUrl)
  await service.waitForOutput(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  t.equal(service.output().split('run migrate').length, 2, 'it is said once')

  await query(databaseUrl, 'DELETE FROM applied_migrations')
  t.equal(await status('/readyz'), 503)
  await service.waitForOutput(
    /waiting for the database: .* lacks 0001_.*: run migrate/
  )
  t.equal(await service.stop(), 0)
})

t.test(
  'with DATABASE_URL in .env, npm start starts no PostgreSQL',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const cwd = t.testdir({ '.env': `DATABASE_URL=${databaseUrl}` })
    const service = spawnLauncher(t, {}, cwd)
    await waitForUrl(service)
    const { pathname } = new URL(databaseUrl)
    t.match(service.output(), `"using the database ${pathname.slice(1)} at `)
    t.same(readdirSync(cwd), ['.env'])
    t.equal(await service.stop(), 0)
  }
)

/** Lets creates wait at a gate. Returns the function that opens it. */
async function holdCreates(t: Test, url: string) {
  await createGate(url)
  await query(url, 'ALTER TABLE categories ADD CHECK (gate(1) IS NOT NULL)')
  const gates = await closeGates(t, url, [1])
  return () => gates.open(1)
}

t.test('after a signal to npm, an open request gets its 201', async (t) => {
  const { env, apiKey } = await prepare(t)
  const release = await holdCreates(t, env.DATABASE_URL)
  const service = spawnProcess(t, ['npm', 'start'], {
    env: { ...env, PORT: '0' }
  })
  const url = await waitForUrl(service)
  const response = postCategory({ url, apiKey }, 'x')
  await waitForGateWaiters(env.DATABASE_URL, 1)

  service.child.kill()
  await service.waitForOutput(/"stopping"/)
  await release()
  t.equal((await response).status, 201)
  await service.exited
  t.match(service.output(), '"stopped"')
})

t.test('a request that outlasts SHUTDOWN_TIMEOUT_MS is cut off', async (t) => {
  const { env, apiKey } = await prepare(t)
  const release = await holdCreates(t, env.DATABASE_URL)
  const service = spawnService(t, { ...env, SHUTDOWN_TIMEOUT_MS: '1' })
  const url = await waitForUrl(service)
  const isCutOff = t.rejects(postCategory({ url, apiKey }, 'late'))
  await waitForGateWaiters(env.DATABASE_URL, 1)

  service.child.kill('SIGINT')
  await isCutOff
  await release()
  t.equal(await service.exited, 0)
})

t.test('a shutdown under load fails /readyz, and no request', async (t) => {
  const { env, apiKey } = await prepare(t)
  const service = spawnService(t, { ...env, SHUTDOWN_DELAY_MS: '86400000' })
  const url = await waitForUrl(service)
  const load = new LoadGenerator(t, [{ url, apiKey }])
  await load.waitForCreates(100)

  // npm and a terminal may both send the signal.
  service.child.kill('SIGINT')
  service.child.kill('SIGINT')
  // A proxy looks at /readyz and sends no more.
  await until(
    async () => (await fetch(`${url}/readyz`)).status === 503,
    'the service reports that it stops'
  )
  await load.waitForCreates(20)
  t.same(await load.stop(() => storedCategories(env.DATABASE_URL)), [])
  t.same(load.failures, {})

  await until(() => {
    service.child.kill('SIGINT')
    return service.child.exitCode !== null
  }, 'a signal after a second ends it')
  t.equal(await service.exited, 1)
  t.notMatch(service.output(), '"stopped"')
})
