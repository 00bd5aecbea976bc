import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { makeKey } from '../src/api-keys/key.ts'
import { BackgroundWork } from '../src/background-work.ts'
import { findService } from '../src/embedded/postgres.ts'
import { describeListenError } from '../src/listen.ts'
import { createDatabase, query } from './support/database.ts'
import { listed, notOnce } from './support/installation.ts'
import { startLoad } from './support/load.ts'
import {
  call,
  keyPattern,
  post,
  script,
  serve,
  started
} from './support/process.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

/** Milliseconds in which the service works in the background at least once. */
const backgroundInterval = 6000

/** Tests whose parent has several jobs, which wait more than they compute. */
const inParallel = { buffered: true }

const stackLine = /^ +at |"stack"/m

t.test(
  'the first start prints the docs and a curl with a key, and acknowledged rows survive a kill -9',
  async (t) => {
    const directory = t.testdir()
    const first = serve(t, {}, directory)
    const url = await started(first)
    const [curl, key = ''] = await first.sees(
      /curl \S+ -H 'Authorization: Bearer (petcat_\w+)'/
    )
    t.match(curl, `curl ${url}/v1/categories -H`)
    t.match(first.output(), `Docs    ${url}/docs`)
    const server = await findService(path.join(directory, '.data'))
    const socket = new URL(server?.url ?? '').searchParams.get('host') ?? ''

    const load = startLoad(url, key)
    await load.acknowledges(20)
    first.child.kill('SIGKILL')
    t.equal(await first.exited, 'SIGKILL')
    await load.stop()

    const second = serve(t, { HOST: '::' }, directory)
    const [, port = ''] = await second.sees(
      /Docs {4}http:\/\/localhost:(\d+)\/docs/
    )
    await second.sees(/Create a key: npm run keys/)
    t.notMatch(
      second.output(),
      keyPattern,
      'the key is not shown again, and no other is created'
    )
    await until(
      () => !existsSync(socket),
      'the folder of the first socket is removed'
    )
    const names = await listed(`http://127.0.0.1:${port}`, key)
    t.same(notOnce(load.acknowledged, names), [])
    t.equal(await second.stop(), 0)
  }
)

/** `usedPort` is the port of another service, `databaseUrl` its database. */
type Mistake = (other: { usedPort: string; databaseUrl: string }) => {
  title: string
  env: Record<string, string>
  output: RegExp
}

const mistakes: Mistake[] = [
  () => ({
    title: 'PORT=x',
    env: { PORT: 'x' },
    output: /^pet-categories: PORT must be a port, from 0 to 65535\n$/
  }),
  () => ({
    title: 'a variable by its former name',
    env: { DATABASE_TIMEOUT: '1' },
    output:
      /^pet-categories: DATABASE_TIMEOUT is now DATABASE_TIMEOUT_MS: rename it\n$/
  }),
  ({ usedPort, databaseUrl }) => ({
    title: 'a PORT in use',
    env: { DATABASE_URL: databaseUrl, PORT: usedPort },
    output: /^pet-categories: Port \d+ is in use: set PORT\n$/
  }),
  ({ usedPort, databaseUrl }) => ({
    title: 'a METRICS_PORT in use',
    env: { DATABASE_URL: databaseUrl, METRICS_PORT: usedPort },
    output: /^pet-categories: Port \d+ is in use: set METRICS_PORT$/m
  }),
  ({ databaseUrl }) => ({
    title: 'a HOST of another machine',
    env: { DATABASE_URL: databaseUrl, HOST: '192.0.2.1' },
    output:
      /^pet-categories: HOST must be an address of this machine, not 192\.0\.2\.1: listen EADDRNOTAVAIL.*\n$/
  }),
  () => ({
    title: 'a file as DATA_DIR',
    env: { DATA_DIR: 'file' },
    output: /^pet-categories: DATA_DIR cannot be used: .+\n$/
  }),
  () => ({
    title: 'a missing certificate',
    env: {
      DATABASE_URL:
        'postgres://u:secret@db/x?sslmode=verify-full&sslrootcert=/none.pem'
    },
    output:
      /^pet-categories: DATABASE_URL cannot be used: ENOENT.*none\.pem'\n$/
  }),
  () => ({
    title: 'a password with a character that must be encoded',
    env: { DATABASE_URL: 'postgres://user:se#cret@db/x' },
    output:
      /^pet-categories: DATABASE_URL cannot be used: .*percent-encode special characters.*\n$/
  })
]

t.test('a mistake that prevents the start', async (t) => {
  const { databaseUrl, port } = await startService(t)
  const directory = t.testdir({ file: '' })
  t.jobs = 4

  for (const mistake of mistakes) {
    const { title, env, output } = mistake({
      databaseUrl,
      usedPort: String(port)
    })
    const name = `${title} is one line that names the variable`
    t.test(name, inParallel, async (t) => {
      const service = serve(t, env, directory)

      t.equal(await service.exited, 1)
      t.match(service.output(), output)
      t.notMatch(service.output(), stackLine)
      t.notMatch(service.output(), 'secret')
    })
  }
})

t.test('an argument of npm start is rejected', async (t) => {
  const command = [...script('src/main.ts'), '--port', '4000']
  t.match(await call(t, command), {
    code: 1,
    output: /^pet-categories: unknown argument --port: set variables.*\n$/
  })
})

t.test('a port that needs root is reported with its variable', (t) => {
  const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
  const address = { HOST: '::', PORT: 80, METRICS_PORT: 81 }

  t.equal(
    describeListenError({ ...error, port: 80 }, address),
    'Port 80 is reserved: set PORT to one above 1023'
  )
  t.equal(
    describeListenError({ ...error, port: 81 }, address),
    'Port 81 is reserved: set METRICS_PORT to one above 1023'
  )
  t.end()
})

t.test(
  'a DATABASE_URL that cannot be reached is one line in the log',
  async (t) => {
    const DATABASE_URL = 'postgres://user:secret@127.0.0.1:1/x'
    const service = serve(t, { DATABASE_URL })
    await started(service)
    await service.sees(/DATABASE_URL cannot be used: .*ECONNREFUSED/)

    await sleep(backgroundInterval)

    const errors = service.output().match(/"level":50/g) ?? []
    t.equal(errors.length, 1, service.output())
    t.notMatch(service.output(), stackLine)
    t.notMatch(service.output(), 'secret')
    t.equal(await service.stop(), 0)
  }
)

t.test('the service waits for a database that is not there yet', async (t) => {
  const existing = new URL(await createDatabase(t))
  const later = `${existing.pathname.slice(1)}_later`
  const url = Object.assign(new URL(existing), {
    pathname: `/${later}`,
    password: 'secret'
  }).href
  const service = serve(t, { DATABASE_URL: url })
  const address = await started(service)
  const status = async (endpoint: string) =>
    (await fetch(address + endpoint)).status

  await service.sees(/DATABASE_URL cannot be used: .*retrying/)
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)
  t.equal((await post(address, makeKey(), 'x')).status, 503)

  await query(
    existing.href,
    `CREATE DATABASE ${later} TEMPLATE template0 ENCODING 'UTF8'`
  )
  t.teardown(() => query(existing.href, `DROP DATABASE ${later} WITH (FORCE)`))
  await service.sees(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  t.equal(await service.stop(), 0)

  const reasons =
    service.output().match(/"msg":"DATABASE_URL .*retrying/g) ?? []
  t.same(reasons, [...new Set(reasons)], 'no reason is repeated')
  t.notMatch(reasons.join(), /secret/)
})

t.test('background work', (t) => {
  function watchedWork() {
    const events: string[] = []
    const work = new BackgroundWork(() => {
      events.push('started')
      return () => events.push('stopped')
    })
    return { events, work }
  }

  t.test('runs from the start to the stop', (t) => {
    const { events, work } = watchedWork()
    work.start()
    work.stop()
    t.same(events, ['started', 'stopped'])
    t.end()
  })

  t.test('does not start after the stop', (t) => {
    const { events, work } = watchedWork()
    work.stop()
    work.start()
    t.same(events, [])
    t.end()
  })

  t.end()
})
