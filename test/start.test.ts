import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findRunning } from './support/running.ts'
import { makeKey } from '../src/api-keys/key.ts'
import { createDatabase, query } from './support/database.ts'
import { keyPattern, post, run, script, serve, started } from './support/process.ts'

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

  const socket = new URL((await findRunning(path.join(directory, '.data'))) ?? '').searchParams.get('host') ?? ''

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
  while (existsSync(socket)) await sleep(10)
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

t.test('a second service on the same folder stops with a clear message, whatever its port', async (t) => {
  const directory = t.testdir()
  const first = serve(t, {}, directory)
  const { port } = new URL(await started(first))
  for (const PORT of ['0', port]) {
    const second = serve(t, { PORT }, directory)
    t.equal(await second.exited, 1)
    t.equal(
      second.output(),
      `pet-categories: Already running from this folder (PID ${first.child.pid}): set DATA_DIR for a second one\n`
    )
  }
})

t.test('what stops the start is said in one line, and nothing is left behind', async (t) => {
  const databaseUrl = await createDatabase(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const fails = async (env: Record<string, string>, message: RegExp, directory?: string) => {
    const service = serve(t, env, directory)
    t.equal(await service.exited, 1)
    t.match(service.output(), message)
    t.notMatch(service.output(), /^ +at /m)
  }
  await fails({ PORT: 'x' }, /^pet-categories: PORT must be an integer, not "x"\n$/)
  const used = (variable: string) => new RegExp(`^pet-categories: Port ${port} is in use: set ${variable}\\n$`)
  const directory = t.testdir({ file: '' })
  await fails({ DATABASE_URL: databaseUrl, PORT: String(port) }, used('PORT'), directory)
  await fails({ PORT: String(port) }, used('PORT'), directory)
  await fails({ METRICS_PORT: String(port) }, used('METRICS_PORT'), directory)
  await fails({ HOST: '192.0.2.1' }, /^pet-categories: listen EADDRNOTAVAIL.*\n$/, directory)
  t.same(readdirSync(directory), ['file'], 'no database was created')
  taken.close()
  await once(taken, 'close')
  await fails({ PORT: String(port), METRICS_PORT: String(port) }, /^pet-categories: listen EADDRINUSE.*$/m, directory)
  t.notOk(existsSync(path.join(directory, '.data/postgres/postmaster.pid')), 'the database was stopped')
  await fails({ DATA_DIR: 'file' }, /^pet-categories: DATA_DIR cannot be used: EEXIST.*\n$/, directory)
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
  await service.sees(/DATABASE_URL cannot be used: .*retrying/)
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)
  t.equal((await post(url, makeKey(), 'x')).status, 503)

  const server = new URL(databaseUrl)
  server.pathname = '/postgres'
  await query(server.href, `CREATE DATABASE ${name}_later TEMPLATE template0 ENCODING 'UTF8'`)
  t.teardown(() => query(server.href, `DROP DATABASE ${name}_later WITH (FORCE)`))
  await service.sees(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  t.equal(service.output().split('retrying').length, 2, 'logged once')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)

  const waiting = serve(t, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/x' })
  await waiting.sees(/ECONNREFUSED.*retrying/)
  await started(waiting)
  waiting.child.kill('SIGTERM')
  t.equal(await waiting.exited, 0)
})

t.test('what an operator must fix is logged in one line, without a stack or a secret', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  const url = Object.assign(new URL(databaseUrl), { password: 'secret' }).href
  const service = serve(t, { DATABASE_URL: url })
  await service.sees(/DATABASE_URL cannot be used: the database must be encoded in UTF8, not LATIN1: .*; retrying/)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  t.notMatch(service.output(), /secret|"stack"/)
})

t.test('a start beside a command, both the first on a folder, succeeds, and so does the command', async (t) => {
  const directory = t.testdir()
  const command = run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', 'x'], { cwd: directory })
  const service = serve(t, {}, directory)
  const url = await started(service)
  t.equal(await command.exited, 0)
  const key = command.output().trim()
  t.equal((await post(url, key, 'x')).status, 201)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})
