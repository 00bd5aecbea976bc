import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { findServer } from '../../src/framework/embedded/server.ts'
import {
  copyData,
  createDatabase,
  temporaryFolder,
  empty,
  query
} from '../support/database.ts'
import {
  postNote,
  serveNotes,
  apiKeyPrefix,
  makeKey,
  storedNotes
} from '../support/notes.ts'
import { keyPattern, started } from '../support/process.ts'
import { startClients } from '../support/resend.ts'
import { until } from '../support/until.ts'

t.test(
  'the first start prints a key, and what it stores survives kill -9',
  async (t) => {
    const directory = temporaryFolder(t)
    const first = serveNotes(t, {}, directory)
    const url = await started(first)
    const [curl, key = ''] = await first.sees(
      new RegExp(`curl \\S+ -H 'Authorization: Bearer (${apiKeyPrefix}\\w+)'`)
    )
    t.match(curl, `curl ${url}/v1/notes -H`)
    t.match(first.output(), `Docs    ${url}/docs`)
    const databaseUrl = async () =>
      (await findServer(path.join(directory, '.data'))) ?? ''
    const socketFolder = new URL(await databaseUrl()).searchParams.get('host')

    const targets = [{ url, key }]
    const clients = startClients(targets)
    await clients.stores(20)
    first.child.kill('SIGKILL')
    t.equal(await first.exited, 'SIGKILL')

    const second = serveNotes(t, { HOST: '::' }, directory)
    const [, port = ''] = await second.sees(
      /Docs {4}http:\/\/localhost:(\d+)\/docs/
    )
    await second.sees(/Create another: npm run keys/)
    t.notMatch(
      second.output(),
      keyPattern,
      'the key is not shown again, and no other is created'
    )

    await until(
      () => !existsSync(String(socketFolder)),
      'the folder of the first socket is removed'
    )

    targets[0] = { url: `http://127.0.0.1:${port}`, key }
    const stored = await databaseUrl()
    t.same(await clients.stop(() => storedNotes(stored)), [])
    t.equal(await second.stop(), 0)
  }
)

t.test('the service waits for a database that is not there yet', async (t) => {
  const existing = new URL(await createDatabase(t))
  const later = `${existing.pathname.slice(1)}_later`
  const url = Object.assign(new URL(existing), {
    pathname: `/${later}`,
    password: 'secret'
  }).href
  const firstKey = makeKey()
  const service = serveNotes(
    t,
    { DATABASE_URL: url, FIRST_API_KEY_FILE: 'key' },
    t.testdir({ key: `${firstKey}\n` })
  )
  const address = await started(service)
  const status = async (endpoint: string) =>
    (await fetch(address + endpoint)).status

  await service.sees(/the database, .* cannot be used: .*retrying/)
  t.equal(await status('/readyz'), 503)
  t.equal(await status('/livez'), 200)
  t.equal((await postNote(address, makeKey(), 'x')).status, 503)

  await query(existing.href, `CREATE DATABASE ${later} ${empty}`)
  t.teardown(() => query(existing.href, `DROP DATABASE ${later} WITH (FORCE)`))
  await service.sees(/the database is ready/)
  t.equal(await status('/readyz'), 200)
  t.equal((await postNote(address, firstKey, 'x')).status, 201)
  t.equal(await service.stop(), 0)
  t.notMatch(service.output(), keyPattern, 'the first key is not logged')

  const reasons =
    service.output().match(/"msg":"the database, .*retrying/g) ?? []
  t.same(reasons, [...new Set(reasons)], 'no reason is repeated')
  t.notMatch(reasons.join(), /secret/)
})

t.test(
  'when the embedded PostgreSQL ends, the service does, with a line',
  async (t) => {
    const directory = temporaryFolder(t)
    copyData(directory)
    const service = serveNotes(t, { DATA_DIR: directory }, directory)
    await service.sees(/Keys are shown once/)
    const lockFile = path.join(directory, 'postgres/postmaster.pid')
    const [pid] = readFileSync(lockFile, 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')

    t.equal(await service.exited, 1)
    t.match(
      service.output(),
      /^notes: the embedded PostgreSQL has ended \(.+\): start again$/m
    )
  }
)
