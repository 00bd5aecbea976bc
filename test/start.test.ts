import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { makeKey } from '../src/api-keys/key.ts'
import { findService } from '../src/postgres/embedded.ts'
import { createDatabase, query } from './support/database.ts'
import { keyPattern, post, serve, started } from './support/process.ts'
import { until } from './support/until.ts'

t.test('the first start prints the docs and a curl with a key, and acknowledged rows survive a kill -9', async (t) => {
  const directory = t.testdir()
  const first = serve(t, {}, directory)
  const url = await started(first)
  const [curl, key = ''] = await first.sees(/curl \S+ -H 'Authorization: Bearer (petcat_\w+)'/)
  t.match(curl, `curl ${url}/v1/categories -H`)
  t.match(first.output(), `Docs    ${url}/docs`)
  const databaseUrl = new URL((await findService(path.join(directory, '.data')))?.url ?? '')

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

  const second = serve(t, { HOST: '::' }, directory)
  const [, port = ''] = await second.sees(/Docs {4}http:\/\/localhost:(\d+)\/docs/)
  await second.sees(/Create a key: npm run keys/)
  t.notMatch(second.output(), keyPattern, 'the key is not shown again, and no other is created')
  await until(
    () => !existsSync(databaseUrl.searchParams.get('host') ?? ''),
    'the folder of the first socket is removed'
  )
  const response = await fetch(`http://127.0.0.1:${port}/v1/categories`, {
    headers: { authorization: `Bearer ${key}` }
  })
  const names = ((await response.json()) as { name: string }[]).map(({ name }) => name)
  t.same(
    acknowledged.filter((name) => !names.includes(name)),
    []
  )

  const third = serve(t, {}, directory)
  t.equal(await third.exited, 1)
  t.equal(
    third.output(),
    `pet-categories: DATA_DIR cannot be used: already running from this folder (PID ${second.child.pid}): set DATA_DIR for a second one\n`
  )
  second.child.kill('SIGTERM')
  t.equal(await second.exited, 0)
})

t.test('a mistake that prevents the start is reported in one line', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const PORT = String((taken.address() as AddressInfo).port)
  const directory = t.testdir({ file: '' })
  const fails = async (env: Record<string, string>, message: RegExp) => {
    const service = serve(t, env, directory)
    t.equal(await service.exited, 1)
    t.match(service.output(), message)
    t.notMatch(service.output(), /^ +at /m)
  }
  const withoutCa = 'postgres://u:secret@db/x?sslmode=verify-full&sslrootcert=/none.pem'
  await Promise.all([
    fails({ PORT: 'x' }, /^pet-categories: PORT must be integer\n$/),
    fails({ DATABASE_URL, PORT }, new RegExp(`^pet-categories: Port ${PORT} is in use: set PORT\n$`)),
    fails({ DATABASE_URL, METRICS_PORT: PORT }, /^pet-categories: Port \d+ is in use: set METRICS_PORT$/m),
    fails({ DATABASE_URL, HOST: '192.0.2.1' }, /^pet-categories: listen EADDRNOTAVAIL.*\n$/),
    fails({ DATA_DIR: 'file' }, /^pet-categories: DATA_DIR cannot be used: EEXIST.*\n$/),
    fails({ DATABASE_URL: withoutCa }, /^pet-categories: DATABASE_URL cannot be used: ENOENT.*none\.pem'\n$/)
  ])
})

t.test('the service waits for a database that is not there yet, and logs it in one line without secrets', async (t) => {
  const databaseUrl = new URL(await createDatabase(t))
  const later = `${databaseUrl.pathname.slice(1)}_later`
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${later}`, password: 'secret' }).href
  const service = serve(t, { DATABASE_URL: url })
  const address = await started(service)
  const status = async (path: string) => (await fetch(address + path)).status
  await service.sees(/DATABASE_URL cannot be used: .*retrying/)
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)
  t.equal((await post(address, makeKey(), 'x')).status, 503)

  await query(databaseUrl.href, `CREATE DATABASE ${later} TEMPLATE template0 ENCODING 'UTF8'`)
  t.teardown(() => query(databaseUrl.href, `DROP DATABASE ${later} WITH (FORCE)`))
  await service.sees(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  const lines = service.output().split('\n')
  t.equal(lines.filter((line) => line.includes('retrying')).length, 1)
  t.notMatch(lines.filter((line) => line.includes('retrying')).join(), /secret|"stack"/)
})
