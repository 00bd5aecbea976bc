import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { makeKey } from '../src/api-keys/key.ts'
import { findService } from '../src/postgres/embedded/running.ts'
import { createDatabase, query } from './support/database.ts'
import { keyPattern, post, run, script, serve, started } from './support/process.ts'
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

  for (const PORT of ['0', port]) {
    const third = serve(t, { PORT }, directory)
    t.equal(await third.exited, 1)
    t.equal(
      third.output(),
      `pet-categories: Already running from this folder (PID ${second.child.pid}): set DATA_DIR for a second one\n`
    )
  }
  second.child.kill('SIGTERM')
  t.equal(await second.exited, 0)
})

t.test('a mistake that prevents the start is reported in one line, and nothing is left behind', async (t) => {
  const databaseUrl = await createDatabase(t)
  const taken = createServer().listen(0, '127.0.0.1')
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
    fails({ PORT: 'x' }, /^pet-categories: PORT must be an integer, not "x"\n$/),
    fails({ DATABASE_URL: databaseUrl, PORT }, new RegExp(`^pet-categories: Port ${PORT} is in use: set PORT\\n$`)),
    fails({ METRICS_PORT: PORT }, new RegExp(`^pet-categories: Port ${PORT} is in use: set METRICS_PORT\\n$`)),
    fails({ HOST: '192.0.2.1' }, /^pet-categories: listen EADDRNOTAVAIL.*\n$/),
    fails({ DATA_DIR: 'file' }, /^pet-categories: DATA_DIR cannot be used: EEXIST.*\n$/),
    fails({ DATABASE_URL: withoutCa }, /^pet-categories: DATABASE_URL cannot be used: ENOENT.*none\.pem'\n$/)
  ])
  t.same(readdirSync(directory), ['file'], 'no database was created')
  taken.close()
  await once(taken, 'close')
  await fails({ PORT, METRICS_PORT: PORT }, /^pet-categories: listen EADDRINUSE.*$/m)
  t.notOk(existsSync(path.join(directory, '.data/postgres/postmaster.pid')), 'the database was stopped')
})

t.test('the service waits for a database that is not there yet', async (t) => {
  const databaseUrl = new URL(await createDatabase(t))
  const later = `${databaseUrl.pathname.slice(1)}_later`
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${later}` }).href
  const directory = t.testdir()
  const service = serve(t, { DATABASE_URL: url }, directory)
  const unreachable = serve(t, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/x' }, directory)
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
  t.equal(service.output().split('retrying').length, 2, 'logged once')

  await unreachable.sees(/ECONNREFUSED.*retrying/)
  for (const { child, exited } of [service, unreachable]) {
    child.kill('SIGTERM')
    t.equal(await exited, 0)
  }
})

t.test('an unsuitable database is logged in one line, without a stack or a secret', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  const service = serve(t, { DATABASE_URL: Object.assign(new URL(databaseUrl), { password: 'secret' }).href })
  await service.sees(/DATABASE_URL cannot be used: the database must be encoded in UTF8, not LATIN1: .*; retrying/)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  t.notMatch(service.output(), /secret|"stack"/)
})

t.test('a service and a command start together on a new folder', async (t) => {
  const directory = t.testdir()
  const command = run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', 'x'], { cwd: directory })
  const service = serve(t, {}, directory)
  const url = await started(service)
  t.equal(await command.exited, 0)
  t.equal((await post(url, command.output().trim(), 'x')).status, 201)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})
