import { readdirSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { findService } from '../src/embedded/postgres.ts'
import {
  copyData,
  createDatabase,
  lockAwaited,
  lockTable
} from './support/database.ts'
import { startLoad } from './support/load.ts'
import {
  keyPattern,
  post,
  run,
  script,
  serve,
  started
} from './support/process.ts'
import { createKeyIn } from './support/service.ts'
import { until } from './support/until.ts'

/** Starts a service process on a given database, with a key. */
async function serveGiven(t: Test, env: Record<string, string>) {
  const databaseUrl = await createDatabase(t)
  const key = await createKeyIn(databaseUrl)
  const service = serve(t, { DATABASE_URL: databaseUrl, ...env })
  return { service, key, url: await started(service), databaseUrl }
}

/** Sends a create, which waits for a lock, and then the signal. `release` ends the lock. */
async function stopWhileCreating(
  t: Test,
  { service, url, key, databaseUrl }: Awaited<ReturnType<typeof serveGiven>>,
  signal: () => void
) {
  const { release } = await lockTable(t, databaseUrl, 'categories')
  const created = post(url, key, 'in flight')
  created.catch(() => {})
  await lockAwaited(databaseUrl)
  signal()
  await service.sees(/"stopping"/)
  return { release, created }
}

for (const [title, command, sign, ...signals] of [
  [
    'two signals to the service at once',
    script('src/main.ts'),
    1,
    'SIGTERM',
    'SIGINT'
  ],
  ['a signal to npm', ['npm', 'start'], 1, 'SIGTERM'],
  ['a signal to the group of npm', ['npm', 'start'], -1, 'SIGINT']
] as const) {
  t.test(
    `after ${title}, a request on the embedded database finishes`,
    async (t) => {
      const directory = t.testdir()
      copyData(directory)
      const service = run(t, [...command], {
        env: { PORT: '0', DATA_DIR: directory }
      })
      const url = await started(service)
      const [key] = await service.sees(keyPattern)
      const given = {
        service,
        url,
        key,
        databaseUrl: (await findService(directory))?.url ?? ''
      }
      const pid = sign * Number(service.child.pid)
      const { release, created } = await stopWhileCreating(t, given, () =>
        signals.forEach((signal) => process.kill(pid, signal))
      )
      await release()
      t.equal((await created).status, 201)
      await service.exited
      t.match(service.output(), '"stopped"')
    }
  )
}

t.test(
  'a second signal a second later stops the service immediately',
  async (t) => {
    const given = await serveGiven(t, {
      DATABASE_TIMEOUT_MS: '60000',
      SHUTDOWN_TIMEOUT_MS: '60000'
    })
    const signal = () => void given.service.child.kill()
    await stopWhileCreating(t, given, signal)
    const signals = setInterval(signal, 1100)
    t.equal(await given.service.exited, 'SIGTERM')
    clearInterval(signals)
  }
)

t.test(
  'under load, shutdown ends readiness first, then connections, and fails no request',
  async (t) => {
    const { service, key, url } = await serveGiven(t, {
      SHUTDOWN_DELAY_MS: '5000'
    })
    const load = startLoad(url, key)
    await load.acknowledges(100)
    service.child.kill()
    // A proxy looks at /readyz and sends no more.
    await until(
      async () => (await fetch(`${url}/readyz`)).status === 503,
      'the service reports that it stops'
    )
    await load.acknowledges(20)
    const { status, headers } = await post(url, key, 'x')
    t.same([status, headers.get('connection')], [201, 'close'])
    await load.stop()
    t.same([load.lost, Object.keys(load.responses)], [[], ['201']])
    t.equal(await service.exited, 0)
  }
)

t.test(
  'a signal during the first start ends it, and the next start is not affected',
  async (t) => {
    const directory = t.testdir()
    for (const stage of [/creating a new database/, /This key is shown once/]) {
      const service = serve(t, {}, directory)
      await service.sees(stage)
      t.equal(await service.stop(), 0)
    }
    t.same(readdirSync(path.join(directory, '.data')), ['postgres'])
  }
)

t.test(
  'a signal ends the wait for a database whose migrations are locked',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    await lockTable(t, databaseUrl, 'pgmigrations')
    const service = serve(t, { DATABASE_URL: databaseUrl })
    await started(service)
    await lockAwaited(databaseUrl)
    t.equal(await service.stop(), 0)
  }
)
